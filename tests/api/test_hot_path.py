"""Fast parsing: fast path, fast parser and declared routes give the same replies.

The same application twice, in this process: once as it is, once with the fast lane closed,
so that FastAPI reads every query. Whatever is asked, status, headers and body are the same;
also of what the server answers at once, before there is an application to ask.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from productrecs.core.timestamps import parse_timestamp
from productrecs.http.dispatch import list_fast_path
from productrecs.http.routes.widget import recommendations
from productrecs.http.routes.widget.list_replies import TrendingRequest
from productrecs.http.routes.widget.recommendations import parse_list_request
from productrecs.services import build_services
from productrecs.settings import Settings
from tests.api.inside import Inside, of_our_own
from tests.schemas.test_fuzz import bodies
from tests.support.service import Merchant, Reply, Service, eventually

NOW: Final = parse_timestamp("2026-03-01T12:00:00Z")
ITEMS: Final = [f"item-{n}" for n in range(30)] + ["é/ü", "a b", "+", "50%", "日本"]
SHOPPERS: Final = ["s_1", "s_2", "customer", "nobody"]


@dataclass(frozen=True)
class Lanes:
    """The same application with and without its fast lane."""

    merchant: Merchant
    fast: Inside
    declared: Inside

    def differ(self, path: str, query: str) -> tuple[Reply, Reply] | None:
        """Return both replies when they are not the same."""
        target = f"{path}?key={self.merchant.account.publishable}&{query}"
        headers = {"x-request-id": "the-same"}
        one, other = (
            lane.ask("GET", target, None, headers) for lane in (self.fast, self.declared)
        )
        short = self.fast.fast_reply(target, headers) or one
        same = _parts(short) == _parts(one) == _parts(other)
        return None if same else (one, other)


def _parts(reply: Reply) -> tuple[int, set[tuple[str, str]], bytes]:
    return reply.status, _headers(reply), reply.body


def _headers(reply: Reply) -> set[tuple[str, str]]:
    # How long it took is never the same, and absent from cached replies.
    untold = {"server-timing", "timing-allow-origin"}
    return {one for one in reply.headers if one[0] not in untold}


@pytest.fixture(scope="module")
def lanes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lanes]:
    """Give both, over a store with a history and models."""
    folder = tmp_path_factory.mktemp("lanes")
    service = Service(folder).prepare()
    merchant = service.register()
    with ExitStack() as stack:
        fast, declared = (
            stack.enter_context(
                Inside(of_our_own(build_services(Settings(data=folder, now_ms=NOW))))
            )
            for _ in range(2)
        )
        setattr(declared.application, "_try_fast_handler", _closed)  # noqa: B010 - its own lane
        _live(merchant.through(fast))
        service.train(merchant, lambda: NOW)
        service.index()
        for lane in (fast, declared):
            _wait_for_models(merchant.through(lane))
        yield Lanes(merchant, fast, declared)


async def _closed(*_: object) -> bool:
    return False


def _live(merchant: Merchant) -> None:
    items = [
        {
            "id": item_id,
            "title": f'"{item_id}" \u2028 </script>',
            "price": n / 3,
            "categories": ["all", f"c{n % 4}"],
            "stock_qty": n % 7,
        }
        for n, item_id in enumerate(ITEMS)
    ]
    assert merchant.push(*items).status == 200
    for n, shopper in enumerate(SHOPPERS[:3]):
        seen = ITEMS[n * 9 : n * 9 + 12]
        views: list[dict[str, object]] = [
            {"event": "detail-page-view", "item_id": item_id, "session_id": shopper}
            for item_id in seen
        ]
        assert merchant.track(*views).status == 200
        for m in range(4):
            sent = merchant.order(f"{shopper}-{m}", *seen[m : m + 4], user_id=shopper)
            assert sent.status == 200


def _wait_for_models(merchant: Merchant) -> None:
    eventually(lambda: merchant.recommend(source="buy", item_id=ITEMS[1]).ids)
    eventually(lambda: merchant.search("item").ids)


ids = st.sampled_from([*ITEMS, "unknown", "", "item-1,item-2", "x" * 300])
baskets = st.lists(ids, max_size=60).map(",".join)
long_lists = st.integers(99, 102).map(lambda n: ",".join(["item-1"] * n))
nums = st.sampled_from(
    ["1", "3", "20", "0", "21", "-1", "07", "1.0", "+3", "٣", "x", "", "1e1"]
)
sources = st.sampled_from(
    ["mix", "buy", "browse", "similar", "", "MIX", "trending", "mix ", "buy,mix", "m%69x"]
)
words = st.sampled_from(["item", "itme 3", "", " ", "item-4", "zzz", "\0", "x" * 300])
switches = st.sampled_from(["true", "false", "1", "0", "", "on", "TRUE", "maybe", "2"])
shoppers = st.sampled_from([*SHOPPERS, "", "\0", "s_1\0", "x" * 400, "ümläut"])
junk = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def _encoded(text: str, style: int) -> str:
    """Return the text as different clients put it in an address."""
    if style == 0:
        return quote(text, safe="")
    if style == 1:
        return quote(text, safe="/,").replace("%20", "+")
    everything = "".join(f"%{byte:02x}" for byte in text.encode())
    return everything if style == 2 else quote(text, safe="/,:;%").replace("%25", "%")


pair = st.one_of(
    st.tuples(st.just("item_id"), ids),
    st.tuples(st.just("item_ids"), baskets),
    st.tuples(st.just("num"), nums),
    st.tuples(st.just("q"), words),
    st.tuples(st.just("in_stock"), switches),
    st.tuples(st.just("source"), sources),
    st.tuples(st.sampled_from(["user_id", "customer_id"]), shoppers),
    st.tuples(st.just("exclude"), baskets | long_lists),
    st.tuples(st.just("anchor"), switches),
    st.tuples(st.just("shown"), nums),
    st.tuples(st.sampled_from(["num", "source", "item_id", "nobody", "", "NUM"]), junk),
)
usual = st.fixed_dictionaries(
    {},
    optional={
        "item_id": ids,
        "item_ids": baskets,
        "num": nums,
        "q": words,
        "in_stock": switches,
        "source": sources,
        "user_id": shoppers,
        "customer_id": shoppers,
        "exclude": baskets,
        "anchor": switches,
        "shown": nums,
    },
).map(lambda fields: list(fields.items()))
queries = st.builds(
    lambda pairs, style, raw: "&".join(
        [*(f"{name}={_encoded(value, style)}" for name, value in pairs), *raw]
    ),
    st.one_of(usual, st.lists(pair, max_size=5)),
    st.integers(0, 3),
    st.one_of(
        st.just([]),
        st.lists(
            st.sampled_from(
                ["num", "=", "", "&", "%6eum=2", "user_id=%ff", "num=%ff", "a;b=1"]
            ),
            max_size=2,
        ),
    ),
)
paths = st.sampled_from(["/v1/recommendations"] * 3 + ["/v1/trending", "/v1/search"])


@settings(max_examples=400)
@given(path=paths, query=queries)
def test_every_query_gets_the_same_answer_in_both_lanes(
    lanes: Lanes, path: str, query: str
) -> None:
    assert lanes.differ(path, query) is None


@settings(max_examples=300)
@given(body=bodies)
def test_every_body_gets_the_same_answer_in_both_lanes(lanes: Lanes, body: bytes) -> None:
    key = lanes.merchant.account.publishable
    one, other = (
        lane.ask("POST", f"/v1/events?key={key}", body, {"x-request-id": "the-same"})
        for lane in (lanes.fast, lanes.declared)
    )

    assert (one.status, one.body) == (other.status, other.body)


def test_the_lanes_answer_with_products_of_every_source(lanes: Lanes) -> None:
    store = lanes.merchant.through(lanes.fast)
    seen = {
        source
        for query in (
            {"item_id": ITEMS[1]},
            {"item_id": ITEMS[1], "source": "buy"},
            {"user_id": "s_1"},
            {"item_ids": ITEMS[2]},
            {},
        )
        for source in store.recommend(num=20, **query).sources
    }

    assert {"buy", "browse", "complementary", "category", "trending"} <= seen


@pytest.mark.parametrize(
    "query", ["item_id=item-1", "user_id=s_1&num=3", "item_ids=item-1,item-2", "num=20"]
)
def test_what_is_usual_goes_the_short_way(lanes: Lanes, query: str) -> None:
    key = lanes.merchant.account.publishable
    reply = lanes.fast.fast_reply(f"/v1/recommendations?key={key}&{query}", {})

    assert reply is not None
    assert reply.ids


@pytest.mark.trust
@settings(max_examples=50_000)
@given(path=paths, query=queries)
def test_every_query_gets_the_same_answer_in_both_lanes_at_length(
    lanes: Lanes, path: str, query: str
) -> None:
    assert lanes.differ(path, query) is None


def _generous(query: Mapping[str, str], default: int) -> TrendingRequest | None:
    """Read `num` as Python does: more than the declared route takes."""
    try:
        return TrendingRequest(min(int(query.get("num", default)), 20))
    except ValueError:
        return None


def test_control_a_lane_that_reads_numbers_its_own_way_is_found(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recommendations, "parse_trending_request", _generous)

    assert lanes.differ("/v1/trending", "num=21") is not None

    @settings(max_examples=1_000, database=None, report_multiple_bugs=False)
    @given(query=queries)
    def asks(query: str) -> None:
        assert lanes.differ("/v1/trending", query) is None

    with pytest.raises(AssertionError):
        asks()


def test_control_a_short_way_that_forgets_a_parameter_is_found(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        list_fast_path,
        "parse_list_request",
        lambda query, _num: parse_list_request({**query, "num": "2"}, 2),
    )

    assert lanes.differ("/v1/recommendations", "item_id=item-1&num=3") is not None
