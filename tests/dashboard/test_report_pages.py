"""Impact pages and report files of a store whose shoppers click, see and buy."""

import csv
import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from productrecs.core.report import FigureDefinition, Report
from productrecs.dashboard.formats import Formats
from productrecs.dashboard.pages.analyse.report_csv_download import spreadsheet_csv
from productrecs.features.attribution.attributor import Attributor
from productrecs.features.experiments.experiment_measurement import (
    holdout_design,
    measure_and_store_test,
)
from productrecs.features.privacy.repository import ShopperRecordRepository
from productrecs.records.experiments.arm_assignment import Exposure, HoldoutArm
from productrecs.records.experiments.exposures.repository import store_exposures
from productrecs.storage.sql.attribution_backlog import UnattributedRecordCount
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import find_store
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, add_store, text_of
from tests.support.service import Account, Merchant, eventually


@pytest.fixture(scope="module")
def sold(office: Office) -> Store:
    """Give a store in which one lamp was bought after a click, one after an impression."""
    store = add_store(office.services, "impact.example", currency="EUR")
    account = Account(store.store_id, store.domain, store.publishable_key, "")
    merchant = Merchant(account, office.inside)
    for shopper, kinds in (
        ("anna", ("rec-impression", "rec-click")),
        ("bert", ("rec-impression",)),
    ):
        named = {"user_id": shopper, "widget": "fbt", "source": "buy", "position": 1}
        for kind in kinds:
            what = {"item_ids": ["lamp"], "sources": ["buy"]}
            if kind == "rec-click":
                what = {"item_id": "lamp", "source": "buy"}  # type: ignore[dict-item]
            sent = merchant.track({"event": kind, **named, **what})
            assert sent.status < 300, sent.body
        order = {"order_id": f"o-{shopper}", "value": 40 if shopper == "anna" else 25}
        bought = {"event": "buy", "user_id": shopper, "item_id": "lamp", **order}
        sent = merchant.track(bought)
        assert sent.status < 300, sent.body
    Attributor(office.services.database, office.services.touchpoint_folder).catch_up(store)
    return store


@pytest.fixture
def owner(office: Office, sold: Store) -> Member:
    return office.member(sold)


def test_impact_separates_clicks_from_impressions(owner: Member) -> None:
    reply = owner.get("/dashboard/impact?days=7")

    text = re.sub(r"\s+", " ", text_of(reply))
    assert "Sales after a click €40.00" in text
    assert "of all sales that your shop sent in these days, €65.00" in text
    assert "Sales after an impression only €25.00" in text
    assert "A cart or a sale counts for the last list" in text
    assert "exactly as sent" not in text
    assert "Start a test" in text


def test_a_number_leads_to_its_orders(owner: Member) -> None:
    page = owner.get("/dashboard/impact?days=7&by=widget").body.decode()
    link = re.search(r'href="(/dashboard/impact/orders\?[^"]*widget=fbt[^"]*)"', page)
    assert link is not None
    orders = text_of(owner.get(link[1].replace("&amp;", "&")))
    assert "o-anna" in orders
    assert "o-bert" in orders

    clicked = text_of(owner.get("/dashboard/impact/orders?days=7&touch=click"))
    assert "o-anna" in clicked
    assert "o-bert" not in clicked
    other = text_of(owner.get("/dashboard/impact/orders?days=7&widget=similar"))
    assert "No such order in these days" in other


def test_a_report_is_downloaded_as_it_is_shown(owner: Member) -> None:
    reply = owner.get("/dashboard/report.csv?report=attribution&by=widget&days=7")

    assert reply.header("content-type") == "text/csv; charset=utf-8"
    assert "attachment" in str(reply.header("content-disposition"))
    (row,) = csv.DictReader(io.StringIO(reply.body.decode("utf-8-sig")))
    assert (row["widget"], row["revenue_clicked"], row["revenue_seen"]) == (
        *("fbt", "40.0", "25.0"),
    )
    narrow = owner.get("/dashboard/report.csv?report=credited-sales&days=7&touch=click")
    assert [
        one["order_id"]
        for one in csv.DictReader(io.StringIO(narrow.body.decode("utf-8-sig")))
    ]
    assert b"o-bert" not in narrow.body


def test_a_file_opens_in_a_spreadsheet_of_the_stores_language() -> None:
    columns = [("clicks", "count"), ("rate", "share"), ("sales", "money"), ("who", "text")]
    report = Report(
        "r",
        "R",
        columns=tuple(FigureDefinition(name, unit, "") for name, unit in columns),
        rows=((3, 0.022727272727272728, 12.5, "Jürgen"),),
    )

    german, english = spreadsheet_csv(report, ","), spreadsheet_csv(report, ".")

    assert german.decode("utf-8-sig").splitlines()[1] == '3;"0,0227";"12,5";"Jürgen"'
    assert english.decode("utf-8-sig").splitlines()[1] == '3,0.0227,12.5,"Jürgen"'
    assert german[:3] == english[:3] == "\ufeff".encode()


@pytest.mark.parametrize("last", ["until", "to"])
@pytest.mark.parametrize("path", ["/dashboard", "/dashboard/impact"])
def test_days_that_are_none_are_refused_beside_the_field(
    owner: Member, path: str, last: str
) -> None:
    page = owner.get(f"{path}?from=2026-03-02&{last}=2026-03-01")

    text = text_of(page)
    assert "the first day must not be after the last" in text
    assert "The last 30 days are shown" in text
    assert 'value="2026-03-02"' in page.body.decode()


@pytest.mark.parametrize(
    "query", ["report=no-such", "report=attribution&by=colour", "report=demand&by=x"]
)
def test_a_report_that_is_none_is_not_sent(owner: Member, query: str) -> None:
    reply = owner.get(f"/dashboard/report.csv?{query}")

    assert reply.status in {400, 404, 422}
    assert b"text/csv" not in str(reply.header("content-type")).encode()


def test_a_new_store_sees_how_to_start_a_test(office: Office, store: Store) -> None:
    text = text_of(office.member(store).get("/dashboard/impact"))

    assert "Nothing was shown or sold in these days" in text
    assert "Start a test" in text
    assert "a test does not decide within a year" in " ".join(text.split())


def test_a_holdout_test_is_started_and_ended(owner: Member) -> None:
    path, page = "/dashboard/impact/holdout", "/dashboard/impact"

    for percent, name in (("0", "spring"), ("95", "spring"), ("x", "spring"), ("10", "")):
        refused = owner.post(path, page=page, holdout_percent=percent, holdout_test=name)
        assert refused.status == 422, (percent, name)
    begun = owner.post(path, page=page, holdout_percent="10", holdout_test="spring")
    home = text_of(owner.get("/dashboard"))
    assert "The holdout test measures how many." in home
    running = text_of(owner.get(page))
    ended = owner.post(path, page=page, then="end")
    home = text_of(owner.get("/dashboard"))
    assert "A holdout test measures how many; it is off now." in home

    assert (begun.status, ended.status) == (303, 303)
    assert "The test “spring” shows 10" in running
    assert "Day 1" in running
    assert "Start a test" in text_of(owner.get(page))


def test_an_ended_holdout_test_stays_when_a_new_one_starts(
    office: Office, store: Store
) -> None:
    owner, path, page = (
        office.member(store),
        "/dashboard/impact/holdout",
        "/dashboard/impact",
    )
    begin = {"page": page, "holdout_percent": "10"}
    owner.post(path, **begin, holdout_test="spring")
    database = office.services.database
    spring = holdout_design(find_store(database, store.domain), "spring")
    visitors = [
        Exposure(store.store_id, f"{arm} {n}", "spring", arm, f"{arm} {n}", office.now_ms)
        for arm in (HoldoutArm.SHOWN, HoldoutArm.HELD_OUT)
        for n in range(4)
    ]
    with database.transaction() as transaction:
        store_exposures(transaction, visitors)
    measure_and_store_test(database, store, spring, office.now_ms)

    owner.post(path, page=page, then="end")
    again = owner.post(path, **begin, holdout_test="spring")
    assert (again.status, "Choose another name" in text_of(again)) == (422, True)
    form = owner.get(page).body.decode()
    first = re.search(r'name="holdout_test"[^>]* value="([^"]+)"', form)
    assert first
    assert owner.post(path, **begin, holdout_test=first[1]).status == 303
    owner.post(path, page=page, then="end")
    second = re.search(
        r'name="holdout_test"[^>]* value="([^"]+)"', owner.get(page).body.decode()
    )
    assert second
    assert second[1] == f"{first[1]} - 2"
    assert owner.post(path, **begin, holdout_test=second[1]).status == 303
    owner.post(path, page=page, then="end")
    assert owner.post(path, **begin, holdout_test="summer").status == 303
    summer = text_of(owner.get(page))
    assert "The test “summer” shows 10" in summer
    assert "Earlier tests: spring" in " ".join(summer.split())
    assert "--test" not in summer

    home = text_of(owner.get("/dashboard"))
    assert "So far:" not in home
    assert "The last one:" not in home

    earlier = text_of(owner.get(f"{page}?test=spring"))
    assert "4 visitors saw no recommendations, 4 did" in earlier
    assert "The test “spring” ran from" in earlier
    assert "Show the newest test" in earlier
    rows = owner.get("/dashboard/report.csv?report=experiment&test=spring").body.decode()
    assert "conversion" in rows


def test_weeks_begin_on_the_stores_first_day(office: Office, owner: Member) -> None:
    today = datetime.fromtimestamp(office.now_ms / 1000, UTC).date()
    begin = today - timedelta(days=2)
    settings = "/dashboard/settings"
    form = {"currency": "EUR", "language": "en", "timezone": "UTC", "price_format": ""}
    form |= {"week_start": f"{begin:%A}".lower(), "contact_email": ""}
    assert owner.post(settings, page=settings, **form).status == 303

    def days(choice: str) -> tuple[str, ...]:
        page = owner.get(f"/dashboard/impact?days={choice}").body.decode()
        current = re.search(rf'days={choice}[^"]*" aria-current="true">', page)
        assert current, "the choice is marked"
        return tuple(re.findall(r'type="date" name="\w+" value="([\d-]+)"', page))

    week = timedelta(days=7)
    eventually(lambda: days("this-week") == (begin.isoformat(), today.isoformat()))
    assert days("last-week") == (
        (begin - week).isoformat(),
        (begin - timedelta(days=1)).isoformat(),
    )
    month_end = today.replace(day=1) - timedelta(days=1)
    month_begin = month_end.replace(day=1)
    assert days("last-month") == (month_begin.isoformat(), month_end.isoformat())
    assert days("this-month") == (today.replace(day=1).isoformat(), today.isoformat())
    file = owner.get("/dashboard/report.csv?days=last-week&report=attribution")
    assert f"{begin - week}" in (file.header("content-disposition") or "")
    long_ago = begin - 20 * week + timedelta(days=3)
    page = owner.get(f"/dashboard/impact?from={long_ago}&until={today}").body.decode()
    rows = page.partition("Week from")[2].partition("</tbody>")[0]
    shown = re.findall(r"<tr><td>([^<]+)", rows)
    weeks = [(begin - number * week).isoformat() for number in range(20, -1, -1)]
    assert shown == [Formats.plain().day(one) for one in weeks]


@pytest.fixture
def recounted(office: Office, sold: Store) -> Iterator[None]:
    """Let attribution count the store again, as after an erasure, from the beginning."""
    with office.services.database.transaction() as transaction:
        ShopperRecordRepository(transaction, sold.store_id).reset_attribution()
    yield
    folder = office.services.touchpoint_folder
    Attributor(office.services.database, folder).catch_up(sold)


@pytest.mark.usefixtures("recounted")
@pytest.mark.parametrize(
    "path",
    ["", "/impact", "/search", "/looks", "/widgets/mail", "/imports/shopping-assistants"],
)
def test_pages_say_that_figures_are_counted_again(owner: Member, path: str) -> None:
    text = re.sub(r"\s+", " ", text_of(owner.get(f"/dashboard{path}")))

    assert "records are not counted yet. Until they are, figures are too low" in text


@pytest.mark.usefixtures("recounted")
def test_figures_that_are_counted_again_are_not_compared(owner: Member) -> None:
    home, impact = owner.get("/dashboard"), owner.get("/dashboard/impact")
    search = owner.get("/dashboard/search")

    assert "Your pages have sent nothing yet" not in text_of(home)
    for reply in (home, impact):
        assert 'class="change' not in reply.body.decode()
    assert "Searches without clicks" not in text_of(search)


@pytest.mark.parametrize(
    ("uncounted", "log_length", "distorts"),
    [
        (0, 0, False),
        (0, 50, False),
        (50, 50, True),
        (900, 5_000, False),
        (1_500, 50_000, True),
        (1_500, 1_000_000, False),
    ],
)
def test_a_busy_store_is_not_said_to_be_counted_again(
    uncounted: int, log_length: int, *, distorts: bool
) -> None:
    assert UnattributedRecordCount(uncounted, log_length).distorts_figures is distorts
