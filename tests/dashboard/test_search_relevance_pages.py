"""Search relevance pages: the query set, judgements by hand, measures and their alarm."""

import re

import pytest
import sqlalchemy as sa

from productrecs.dashboard.page_registry import PAGES
from productrecs.features.search.relevance.configuration_changes import AUDITED_ACTIONS
from productrecs.features.search.relevance.relevance_measure import RelevanceGrade
from productrecs.features.search.relevance.relevance_monitoring import (
    judge_clicks_and_store_measure,
    read_measures,
)
from productrecs.features.search.relevance.repository import RelevanceRepository
from productrecs.features.search.search_rule_editor import SearchRuleEditor
from productrecs.serving.cached_store import load_store, searchable_store
from productrecs.storage.sql.tables import (
    audit_log,
    jobs,
    rules,
    search_rules,
    stores,
    synonyms,
)
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.training.search import index_in_another_language
from productrecs.training.search.indexer import Indexer
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, add_user, flat_text, text_of
from tests.support.filled_store import open_store

RELEVANCE = "/dashboard/search/relevance"
QUERY = f"{RELEVANCE}/query"
KINDS = ["lamp", "tent", "chair", "spoon", "carpet", "mirror", "kettle", "bucket", "ladder"]
KINDS += ["guitar", "helmet"]


@pytest.fixture
def shop(office: Office) -> Store:
    """Give a store of a few products in its search index."""
    services = office.services
    office.now_ms += 3_600_000
    domain = f"relevance-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    items = [
        {"id": f"0{n}", "title": f"{kind} thing", "price": 10 + n}
        for n, kind in enumerate(KINDS)
    ]
    items[KINDS.index("tent")]["availability"] = "out_of_stock"
    assert made.merchant.push(*items).status == 200
    accounts = AccountDirectory(services.database)
    indexer = Indexer(services.settings.data / "search", accounts)
    reader = services.database.raw_reader()
    while indexer.run_next_batches(reader):
        pass
    indexer.close()
    reader.close()
    return made.store


@pytest.fixture
def owner(office: Office, shop: Store) -> Member:
    return office.member(shop)


def measure(office: Office, store: Store) -> None:
    """Measure as the worker's child process does."""
    services = office.services
    search = searchable_store(load_store(services, store))
    judge_clicks_and_store_measure(services.database, store, search, services.clock())


def grades(office: Office, store: Store) -> dict[str, RelevanceGrade]:
    with office.services.database.reading() as connection:
        found = RelevanceRepository(connection, store.store_id).judgements()
    return {one.intent: one.grade for one in found}


def test_a_new_shop_reads_what_it_needs_and_judges_from_the_first_query_on(
    office: Office, shop: Store, owner: Member
) -> None:
    empty = flat_text(owner.get(RELEVANCE))
    wrong = owner.post(RELEVANCE, then="add", q="!?")
    added = owner.post(RELEVANCE, then="add", q="lamps")
    address = added.header("location") or ""
    page = flat_text(owner.get(address))
    judged = owner.post(QUERY, page=address, q="lamp", item="00", grade="good")
    again = owner.get(address).body.decode()

    assert "a query counts once 2 shoppers have searched for it" in empty
    assert wrong.status == 422
    assert "Type the words that a shopper would search for." in text_of(wrong)
    assert address == f"{QUERY}?q=lamps"
    assert "lamp thing" in page
    assert "No product is judged good or fair yet." in page
    assert judged.status == 303
    assert grades(office, shop) == {"lamp": RelevanceGrade.GOOD}
    assert 'value="" aria-pressed="true">Good' in again
    assert "<strong>100" in again

    owner.post(QUERY, page=address, q="lamp", item="00", grade="")
    assert not grades(office, shop)


def test_a_judgement_by_the_script_returns_the_results_alone(owner: Member) -> None:
    address = owner.post(RELEVANCE, then="add", q="lamp").header("location") or ""
    owner.get(address)
    owner.headers = {"hx-request": "true"}

    reply = owner.post(QUERY, page=address, q="lamp", item="00", grade="fair")

    assert reply.status == 200
    text = reply.body.decode()
    assert "<html" not in text
    assert 'aria-pressed="true">Fair' in text


def test_only_what_is_in_the_set_can_be_judged(owner: Member) -> None:
    address = owner.post(RELEVANCE, then="add", q="lamp").header("location") or ""
    for fields in (
        {"q": "tent", "item": "01", "grade": "good"},
        {"q": "lamp", "item": "missing", "grade": "good"},
        {"q": "lamp", "item": "00", "grade": "perfect"},
    ):
        assert owner.post(QUERY, page=address, **fields).status == 404
    assert owner.get(f"{QUERY}?q=tent").status == 404

    removed = owner.post(RELEVANCE, then="remove", q="lamp")
    assert removed.status == 303
    assert owner.post(RELEVANCE, then="remove", q="lamp").status == 404
    assert owner.get(address).status == 404


def test_a_viewer_sees_the_measures_and_changes_nothing(
    office: Office, shop: Store, owner: Member
) -> None:
    address = owner.post(RELEVANCE, then="add", q="lamp").header("location") or ""
    viewer = Member(office.inside)
    viewer.log_in(add_user(office.services, shop, Role.VIEWER))

    pages = [viewer.get(path).body.decode() for path in (RELEVANCE, address)]
    refused = [
        viewer.post(RELEVANCE, page="/dashboard/security", then="measure"),
        viewer.post(QUERY, page="/dashboard/security", q="lamp", item="00", grade="bad"),
    ]

    assert not any(f'action="{RELEVANCE}' in page for page in pages)
    assert [one.status for one in refused] == [403, 403]
    assert not grades(office, shop)


def test_another_store_cannot_see_or_judge_a_query(
    office: Office, owner: Member, store: Store
) -> None:
    address = owner.post(RELEVANCE, then="add", q="lamp").header("location") or ""
    stranger = office.member(store)

    assert stranger.get(address).status == 404
    assert "lamp" not in text_of(stranger.get(RELEVANCE))


def test_the_worker_measures_on_demand(office: Office, shop: Store, owner: Member) -> None:
    owner.post(RELEVANCE, then="add", q="lamp")

    reply = owner.post(RELEVANCE, then="measure")

    assert reply.status == 303
    query = sa.select(jobs.c.kind).where(jobs.c.store_id == shop.store_id)
    with office.services.database.reading() as connection:
        assert "measure-search" in connection.execute(query).scalars().all()


def test_home_shows_a_loss_of_relevance_with_what_changed(
    office: Office, shop: Store, owner: Member
) -> None:
    for number, kind in enumerate(KINDS):
        address = owner.post(RELEVANCE, then="add", q=kind).header("location") or ""
        owner.post(QUERY, page=address, q=kind, item=f"0{number}", grade="good")
    measure(office, shop)
    before = text_of(owner.get("/dashboard"))
    owner.post("/dashboard/search/improve", q="lamp", action="redirect", address="/lamps")
    owner.post("/dashboard/search/improve", q="tent", action="pin", pin="02")
    office.now_ms += 60_000
    measure(office, shop)

    home = flat_text(owner.get("/dashboard"))
    raw = owner.get(RELEVANCE).body.decode()
    page = flat_text(owner.get(RELEVANCE))

    assert "Search relevance" in before
    assert "fell from" not in before
    for text in (home, page):
        assert "Search relevance (NDCG@10) fell from 1.00 to 0.96, by 4%." in text
        for action in ("Search: lamp; Sent to: /lamps", "Search: tent; Products that come"):
            assert f"Saved a synonym or search rule ({action}" in text
    assert "Search relevance by day" in page
    links = re.findall(r'href="(/dashboard/audit\?before=[^"]+)"', raw)
    lines = [
        owner.get(link).body.decode().partition('<td class="detail">')[2] for link in links
    ]
    assert [one.partition(";")[0] for one in lines] == ["Search: tent", "Search: lamp"]
    services = office.services
    assert len(read_measures(services.database, shop.store_id)) == 2
    assert SearchRuleEditor(services.database, shop, services.clock).rules()


def test_the_audit_log_has_every_action_by_which_a_change_of_search_is_named() -> None:
    audited = {action for page in PAGES for action in (page.action, *page.actions.values())}

    named = {action for actions in AUDITED_ACTIONS.values() for action in actions}

    assert named <= audited, named - audited


def judged(owner: Member, *kinds: str) -> None:
    """Add queries; the product that has the word is good."""
    for kind in kinds:
        address = owner.post(RELEVANCE, then="add", q=kind).header("location") or ""
        item = f"0{KINDS.index(kind)}"
        owner.post(QUERY, page=address, q=kind, item=item, grade="good")


def stored(office: Office, store: Store) -> list[str]:
    """Return what a change of search would change, and the audit log."""
    tables = (synonyms, search_rules, rules, stores, audit_log)
    with office.services.database.reading() as connection:
        return [
            repr(row)
            for table in tables
            for row in connection.execute(
                sa.select(table).where(table.c.store_id == store.store_id)
            )
        ]


IMPROVE = "/dashboard/search/improve"
RULE = "/dashboard/merchandising/rule"
SETTINGS = "/dashboard/merchandising/settings"

LIST_SETTINGS = {
    "search_sold_out": "mixed",
    "search_meaning": "on",
    "search_query_filters": "on",
    "search_collapse": "request",
    "rec_num": "8",
    "trending_days": "30",
    "trending_metric": "orders",
    "trending_min_price": "0",
    "repeat_after_days": "0",
    "customer_lists": "limited",
    "unconfirmed_orders": "auto",
}


@pytest.mark.parametrize(
    ("page", "fields", "messages", "typed"),
    [
        pytest.param(
            f"{IMPROVE}?q=couch&action=synonym",
            {"q": "couch", "action": "synonym", "texts": "chair"},
            ["1 improve, 0 get worse", "Nothing is found", "chair thing"],
            'value="chair"',
            id="a synonym finds what was not found",
        ),
        pytest.param(
            f"{IMPROVE}?q=lamp&action=pin",
            {"q": "lamp", "action": "pin", "pin": "01"},
            ["0 improve, 1 get worse", "Worse"],
            'value="01" checked',
            id="a pin above the good product",
        ),
        pytest.param(
            f"{IMPROVE}?q=tent&action=pin",
            {"q": "tent", "action": "pin", "pin": "01"},
            ["Of 3 queries, none changes."],
            'value="01" checked',
            id="a pin of what is first already",
        ),
        pytest.param(
            f"{IMPROVE}?q=lamp&action=redirect",
            {"q": "lamp", "action": "redirect", "address": "/lamps"},
            [
                "1 show other products without a judged",
                "Redirect to /lamps",
                "50.0 % → 50.0 %",
            ],
            'value="/lamps"',
            id="a redirect leads away from the results",
        ),
        pytest.param(
            RULE,
            {"action": "exclude", "item": "00", "enabled": "on", "priority": "0"},
            ["0 improve, 1 get worse"],
            ">00</textarea>",
            id="a rule that excludes a good product",
        ),
        pytest.param(
            SETTINGS,
            LIST_SETTINGS | {"search_sold_out": "hidden"},
            ["0 improve, 1 get worse", "66.7 % → 33.3 %"],
            '<option value="hidden" selected>',
            id="a setting that hides what is sold out",
        ),
    ],
)
def test_the_effect_on_the_queries_is_shown_before_saving(
    office: Office,
    shop: Store,
    owner: Member,
    page: str,
    fields: dict[str, str],
    messages: list[str],
    typed: str,
) -> None:
    judged(owner, "lamp", "tent")
    couch = owner.post(RELEVANCE, then="add", q="couch").header("location") or ""
    owner.post(QUERY, page=couch, q="couch", item="02", grade="good")
    before = stored(office, shop)

    path = page.partition("?")[0]
    shown = owner.post(f"{path}/effect", page=page, **fields)

    assert shown.status == 200, text_of(shown)[-600:]
    text = flat_text(shown).replace("\N{NO-BREAK SPACE}", " ")
    for words in messages:
        assert words in text
    assert "Not saved yet. Of 3 queries" in text
    assert typed in shown.body.decode()
    assert stored(office, shop) == before


def test_the_effect_of_reading_no_filters_in_words_is_shown(owner: Member) -> None:
    owner.post(RELEVANCE, then="add", q="thing under 11")
    fields = LIST_SETTINGS.copy()
    del fields["search_query_filters"]  # an empty checkbox

    effects = [
        flat_text(owner.post(f"{SETTINGS}/effect", page=SETTINGS, **sent))
        for sent in (LIST_SETTINGS, fields)
    ]

    assert "Of 1 queries, none changes." in effects[0]
    assert "1 show other products without a judged difference" in effects[1]


def test_a_query_that_finds_products_at_last_improves_without_a_judgement(
    owner: Member,
) -> None:
    owner.post(RELEVANCE, then="add", q="couch")
    owner.post(RELEVANCE, then="add", q="lamp")

    shown = owner.post(
        f"{IMPROVE}/effect",
        page=f"{IMPROVE}?q=couch&action=synonym",
        q="couch",
        action="synonym",
        texts="chair",
    )

    text = flat_text(shown)
    assert "1 improve, 0 get worse, and 0 show other products" in text
    assert "1 query that found nothing finds products or a page." in text
    assert "Finds something now" in text


def test_relevance_is_no_figure_while_too_little_is_judged(
    office: Office, shop: Store, owner: Member
) -> None:
    for kind in KINDS[:3]:
        owner.post(RELEVANCE, then="add", q=kind)
    judged(owner, "lamp")
    measure(office, shop)
    few = flat_text(owner.get(RELEVANCE))
    judged(owner, "tent")
    office.now_ms += 60_000
    measure(office, shop)
    enough = flat_text(owner.get(RELEVANCE))

    assert "Too little is judged 1 of 3 queries are judged; 10 are needed" in few
    assert "100.0" not in few
    assert re.search(r"Relevance \(NDCG@10\) 100.0 %", enough)


def test_a_change_that_is_invalid_shows_its_error_and_no_effect(owner: Member) -> None:
    judged(owner, "lamp")

    shown = owner.post(
        f"{IMPROVE}/effect",
        page=f"{IMPROVE}?q=lamp&action=synonym",
        q="lamp",
        action="synonym",
        texts="",
    )

    assert shown.status == 422
    assert "A text of the synonym is empty" in text_of(shown)
    assert "Not saved yet" not in text_of(shown)


STORE = "/dashboard/settings"
STORE_SETTINGS = {
    "currency": "EUR",
    "language": "en",
    "timezone": "UTC",
    "price_format": "",
    "week_start": "monday",
    "contact_email": "",
}


@pytest.mark.parametrize(
    ("language", "message"),
    [
        ("en-GB", "Of 1 queries, none changes."),
        ("de", "0 improve, 1 get worse"),  # "kettling" has an English stem, as "kettle"
    ],
)
def test_the_effect_of_another_language_is_shown_before_saving(
    office: Office, shop: Store, owner: Member, language: str, message: str
) -> None:
    address = owner.post(RELEVANCE, then="add", q="kettling").header("location") or ""
    item = f"0{KINDS.index('kettle')}"
    owner.post(QUERY, page=address, q="kettling", item=item, grade="good")
    before = stored(office, shop)
    fields = STORE_SETTINGS | {"language": language}

    shown = owner.post(f"{STORE}/effect", page=STORE, **fields)

    assert shown.status == 200, text_of(shown)[-600:]
    assert message in flat_text(shown)
    assert f'<option value="{language}" selected>' in shown.body.decode()
    assert 'action="/dashboard/settings"' in shown.body.decode()
    assert stored(office, shop) == before
    assert not list(office.services.indexes.glob(".trial*")), "the trial index is removed"


def test_a_large_catalog_cannot_be_tried_in_another_language(
    shop: Store, owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shop.domain
    monkeypatch.setattr(index_in_another_language, "MAX_PRODUCTS", len(KINDS) - 1)

    refused = owner.post(
        f"{STORE}/effect", page=STORE, **STORE_SETTINGS | {"language": "de"}
    )

    assert refused.status == 422
    assert "search cannot be tried in another language" in text_of(refused)
