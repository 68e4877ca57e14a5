"""Reply rules: what every reply must have; `violations` says what it lacks."""

import json
from typing import Final

from tests.support.service import Reply

LARGEST_ERROR: Final = 64 * 1024
LONGEST_INPUT: Final = 256
MOST_PROBLEMS: Final = 100
LEAKS: Final = (b"Traceback", b'File "', b"SELECT ", b"INSERT ", b"/site-packages/", b".py")
_OF_A_PROBLEM: Final = {"loc", "msg", "type", "input", "ctx"}
_SERVER_ERROR, _UNAVAILABLE, _UNFIT = 500, 503, 422


def violations(reply: Reply) -> list[str]:
    """Return what is wrong with a reply; an honest 503 is right."""
    wrong = [] if reply.header("x-request-id") else ["no X-Request-Id"]
    if reply.status >= _SERVER_ERROR and reply.status != _UNAVAILABLE:
        wrong.append(f"status {reply.status}")
    if reply.status == _UNAVAILABLE and not (reply.header("retry-after") or "").isdigit():
        wrong.append("503 without Retry-After")
    if reply.status >= 400:
        wrong += _wrong_error(reply)
    return wrong


def _wrong_error(reply: Reply) -> list[str]:
    wrong = [f"leaks {leak.decode()}" for leak in LEAKS if leak in reply.body]
    if reply.header("cache-control") != "no-store":
        wrong.append("an error that may be cached")
    if len(reply.body) > LARGEST_ERROR:
        wrong.append(f"an error of {len(reply.body)} bytes")
    if "access-control-allow-origin" not in dict(reply.headers):
        wrong.append("an error without CORS headers")
    if (reply.header("content-type") or "").startswith("text/javascript"):
        return wrong  # a widget's script, which says in the browser's console what is wrong
    try:
        body = json.loads(reply.body)
    except ValueError:
        return [*wrong, "an error that is not JSON"]
    if reply.status == _UNFIT:
        return wrong + _wrong_problems(body)
    if isinstance(body, dict) and "jsonrpc" in body:
        return wrong + _wrong_refusal(body)
    return wrong + _wrong_words(reply, body)


def _wrong_words(reply: Reply, body: object) -> list[str]:
    wanted = {"detail", "code", "doc_url", "request_id"}
    if isinstance(body, dict) and "ucp" in body:  # the protocol's own form beside ours
        wanted |= {"ucp", "messages", "content"}
    if not isinstance(body, dict) or set(body) - {"reasons"} != wanted:
        return [f"an error of another form: {body}"]
    if body["request_id"] != reply.header("x-request-id"):
        return ["two request ids"]
    return []


def _wrong_refusal(body: dict[str, object]) -> list[str]:
    """Return what is wrong with an error of /mcp, which has the form of JSON-RPC."""
    error = body.get("error")
    is_right = (
        body.keys() == {"jsonrpc", "id", "error"}
        and body["jsonrpc"] == "2.0"
        and isinstance(error, dict)
        and isinstance(error.get("code"), int)
        and isinstance(error.get("message"), str)
    )
    return [] if is_right else [f"a refusal of another form: {str(body)[:200]}"]


def _wrong_problems(body: object) -> list[str]:
    detail = body.get("detail") if isinstance(body, dict) else None
    if not isinstance(detail, list) or not 1 <= len(detail) <= MOST_PROBLEMS:
        return [f"a 422 of another form: {str(body)[:200]}"]
    return [f"a problem of another form: {one}" for one in detail if not _is_problem(one)]


def _is_problem(problem: object) -> bool:
    return (
        isinstance(problem, dict)
        and {"loc", "msg", "type"} <= set(problem) <= _OF_A_PROBLEM
        and isinstance(problem["loc"], list)
        and all(isinstance(step, str | int) for step in problem["loc"])
        and isinstance(problem["msg"], str)
        and isinstance(problem["type"], str)
        and _size(problem.get("input")) <= LONGEST_INPUT
    )


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
