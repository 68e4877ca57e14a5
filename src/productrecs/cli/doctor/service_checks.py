"""Service checks: the running service, its processes, and the servers that it uses."""

import http.client
import json
import smtplib
import ssl
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from productrecs.cli.doctor.check_result import CheckResult, notice, ok, problem
from productrecs.cli.last_service_run import read_last_service_run
from productrecs.processes.supervisor import ProcessState
from productrecs.settings import Settings, SmtpServer

_SECONDS: Final = 5.0
_MANY_ENDS: Final = 3
_LOG: Final = "read the service's log (journalctl -u productrecs)"


def check_service(settings: Settings) -> Iterator[CheckResult]:
    """Yield whether the service that ran on this data folder runs, and is well.

    Nothing is known of a service that never ran here, or runs on another machine.
    """
    service = read_last_service_run(settings.data)
    if service is None or not service.ran_on_this_machine:
        return
    if not service.is_running:
        remedy = "systemctl start productrecs, or productrecs serve"
        yield problem("service", "the service is not running", remedy)
        return
    results = [
        result
        for process in service.processes
        if (result := _unhealthy_process_result(process)) is not None
    ]
    results += _readiness_problems(service.address)
    yield from results or [ok("service", f"it is ready at {service.address}")]


def _unhealthy_process_result(process: ProcessState) -> CheckResult | None:
    name = f"the process {process.name} ({process.pid})"
    if process.is_silent:
        remedy = f"it is restarted within a minute; if it hangs again, {_LOG}"
        return problem("service", f"{name} hangs", remedy)
    ends = f"it ended {process.recent_ends} times in the last 10 minutes"
    if process.recent_ends and not process.is_ready:
        return problem("service", f"{name} does not start: {ends}", _LOG)
    if process.recent_ends >= _MANY_ENDS:
        return notice("service", f"{name} is restarted again and again: {ends}", _LOG)
    return None


def _readiness_problems(address: str) -> list[CheckResult]:
    """Return what the service itself says; nothing if all is well."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(
        parts.hostname or "", parts.port, timeout=_SECONDS
    )
    try:
        connection.request("GET", "/health/ready?strict=true")
        reply = connection.getresponse()
        body = reply.read()
    except (OSError, http.client.HTTPException) as error:
        message = f"it does not answer at {address} ({error})"
        return [problem("service", message, _LOG)]
    finally:
        connection.close()
    if reply.status == HTTPStatus.OK:
        return []
    try:
        reasons = list(map(str, json.loads(body)["reasons"]))
    except (ValueError, KeyError, TypeError):
        reasons = [f"it answers {reply.status}"]
    return [problem("service", f"not ready: {reason}", _LOG) for reason in reasons]


def check_mail(settings: Settings) -> Iterator[CheckResult]:
    """Yield whether the mail server can be reached; nothing is sent."""
    if settings.smtp is None:
        return
    place = f"{settings.smtp.host}:{settings.smtp.port}"
    try:
        _connect_to_mail_server(settings.smtp)
    except (OSError, smtplib.SMTPException) as error:
        message = f"the mail server {place} cannot be used ({error}): no link is mailed"
        remedy = "correct PRODUCTRECS_SMTP_HOST, _PORT and _SECURITY, or open the firewall"
        yield problem("mail", message, remedy)
    else:
        yield ok("mail", f"{place} takes e-mails")


def _connect_to_mail_server(server: SmtpServer) -> None:
    """Connect as the service does; raise if that fails."""
    if server.security == "tls":
        context = ssl.create_default_context()
        with smtplib.SMTP_SSL(
            server.host, server.port, timeout=_SECONDS, context=context
        ) as connection:
            connection.noop()
        return
    with smtplib.SMTP(server.host, server.port, timeout=_SECONDS) as connection:
        connection.ehlo()
        if server.security == "starttls":
            connection.starttls(context=ssl.create_default_context())
