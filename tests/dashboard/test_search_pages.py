"""Search pages: reports of searches, previews with reasons, synonyms and rules."""

import re
from datetime import UTC, datetime

import pytest

from productrecs.dashboard.pages.analyse.search_report_and_improvements import (
    relaxation_text,
)
from productrecs.engines.text.search_index import QueryRelaxation
from productrecs.features.search.search_rule_editor import SearchRuleEditor
from productrecs.records.search_counts.repository import (
    QuestionCount,
    SearchCount,
    SearchCountRepository,
)
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.training.search.indexer import Indexer
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, add_user, flat_text, text_of
from tests.support.filled_store import open_store

PICTURES = "https://pictures.example"
IMPROVE = "/dashboard/search/improve"


@pytest.fixture(scope="module")
def shop(office: Office) -> Store:
    """Give a store of three sofas in which somebody searched for a davenport in vain."""
    services = office.services
    made = open_store(services.database, services.clock, office.inside, "search.example")
    items = [
        {
            "id": f"sofa-{n}",
            "title": f"Sofa number {n}",
            "price": 9,
            "image_url": f"{PICTURES}/{n}.webp",
        }
        for n in range(3)
    ]
    assert made.merchant.push(*items).status == 200
    indexer = Indexer(
        services.settings.data / "search", AccountDirectory(services.database)
    )
    reader = services.database.raw_reader()
    while indexer.run_next_batches(reader):
        pass
    indexer.close()
    reader.close()
    day = datetime.fromtimestamp(services.clock() / 1000, UTC).date().isoformat()
    with services.database.transaction() as transaction:
        counts = SearchCountRepository(transaction, made.store.store_id)
        counts.add(
            day,
            {
                "davenport": SearchCount("davenport", 7, 7),
                "sofa zebra": SearchCount("sofa zebra", 1, 1),
            },
        )
        counts.add_questions(day, [QuestionCount("attributes.season", 40, 10)])
    return made.store


@pytest.fixture
def owner(office: Office, shop: Store) -> Member:
    return office.member(shop)


def test_a_search_without_results_leads_to_its_improvement(owner: Member) -> None:
    page = owner.get("/dashboard/search").body.decode()

    assert re.search(r"davenport</a></th><td class=.number.>7<", page)
    assert f"{IMPROVE}?q=davenport&amp;action=synonym" in page


def test_each_table_shows_five_searches_and_the_others_on_a_click(
    office: Office, shop: Store, owner: Member
) -> None:
    day = datetime.fromtimestamp(office.services.clock() / 1000, UTC).date().isoformat()
    missed = {f"wish {n}": SearchCount(f"wish {n}", 6 - n, 6 - n) for n in range(6)}
    with office.services.database.transaction() as transaction:
        SearchCountRepository(transaction, shop.store_id).add(day, missed)

    page = owner.get("/dashboard/search").body.decode()

    shown, folded = page.split('<details class="more"><summary>3 more</summary>')[:2]
    assert all(f">wish {n}</a></th>" in shown for n in range(4))
    assert ">wish 4</a></th>" not in shown
    assert all(f">wish {n}</a></th>" in folded for n in (4, 5))


def test_the_page_shows_how_often_shoppers_answered_a_question(owner: Member) -> None:
    page = flat_text(owner.get("/dashboard/search"))

    assert "Season 40 10 25 %" in page


def test_the_preview_gives_the_results_and_why(owner: Member) -> None:
    found = flat_text(owner.get("/dashboard/search?q=sofa"))
    assert "Sofa number 0" in found
    assert "Title: sofa" in found

    corrected = flat_text(owner.get("/dashboard/search?q=numbr"))
    assert "numbr read as number" in corrected
    nothing = flat_text(owner.get("/dashboard/search?q=davenport"))
    assert "davenport no product has this word" in nothing
    assert "No product is found" in nothing


def test_the_preview_names_the_filter_that_words_are_read_as(owner: Member) -> None:
    found = flat_text(owner.get("/dashboard/search?q=sofa+under+80"))

    assert "under 80 filters by price: up to" in found
    assert "sofa found as written" in found
    assert "80 found as written" not in found


@pytest.mark.parametrize(("words", "text"), [(1, "have this word"), (2, "have all words")])
def test_a_search_of_one_word_is_not_said_to_have_several(words: int, text: str) -> None:
    assert text in relaxation_text(QueryRelaxation.WORDS, words)


def test_the_page_may_load_the_pictures_of_results_that_come_later(owner: Member) -> None:
    policy = owner.get("/dashboard/search").header("content-security-policy") or ""
    owner.headers = {"hx-request": "true"}
    results = owner.get("/dashboard/search?q=sofa").body.decode()
    assert f'src="{PICTURES}/0.webp"' in results
    assert PICTURES in policy


def test_a_synonym_shows_its_effect_before_it_is_saved(
    office: Office, shop: Store, owner: Member
) -> None:
    editor = SearchRuleEditor(office.services.database, shop, office.services.clock)
    before, after = text_of(
        owner.get(f"{IMPROVE}?q=davenport&action=synonym&texts=sofa")
    ).split("After saving")
    assert "Sofa number" not in before
    assert "Sofa number 0" in after
    assert "also finds sofa (synonym)" in after
    assert not editor.synonyms()

    form = owner.get(f"{IMPROVE}?q=davenport&action=synonym").body.decode()
    assert re.search(r"<noscript><button[^>]*>Preview</button></noscript>", form)

    fields = {"q": "davenport", "action": "synonym"}
    wrong = owner.post(IMPROVE, **fields, texts="davenport")
    assert wrong.status == 422
    assert "A synonym is 2 to 20 different texts" in text_of(wrong)
    assert "davenport 7 7 Still nothing" in flat_text(owner.get("/dashboard/search"))
    saved = owner.post(IMPROVE, **fields, texts="sofa")
    assert saved.header("location") == "/dashboard/search?q=davenport"
    assert [one.texts for one in editor.synonyms().values()] == [("davenport", "sofa")]
    assert "Sofa number 0" in text_of(owner.get("/dashboard/search?q=davenport"))
    assert "davenport 7 7 Finds products now" in flat_text(owner.get("/dashboard/search"))

    assert "sofa zebra 1 1 Finds similar products" in flat_text(
        owner.get("/dashboard/search")
    )

    (number,) = editor.synonyms()
    gone = {"page": "/dashboard/search", "synonym": str(number)}
    assert owner.post("/dashboard/search/remove", **gone).status == 303
    assert not editor.synonyms()
    assert owner.post("/dashboard/search/remove", **gone).status == 404


def test_a_synonym_is_searched_as_a_query_if_nothing_else_is_found(
    office: Office, shop: Store, owner: Member
) -> None:
    editor = SearchRuleEditor(office.services.database, shop, office.services.clock)
    fields = {"q": "davenport", "action": "synonym"}
    warning = "No product matches “zebra”. Use words of your catalog."
    previewed = owner.get(f"{IMPROVE}?q=davenport&action=synonym&texts=zebra,sofa+bed")
    assert warning in text_of(previewed)

    assert owner.post(IMPROVE, **fields, texts="zebra, sofa bed").status == 303
    found = flat_text(owner.get("/dashboard/search?q=davenport"))
    assert f"Saved. {warning}" in found
    assert "Sofa number 0" in found
    assert "Sofa number 0" in text_of(owner.get("/dashboard/search?q=sofa+bed"))
    assert "davenport 7 7 Finds similar products" in flat_text(
        owner.get("/dashboard/search")
    )
    for number in editor.synonyms():
        editor.remove_synonym(number)

    reverse = owner.get(f"{IMPROVE}?q=sofa&action=synonym&texts=davenport")
    assert "No product matches" not in text_of(reverse)


def test_products_are_pinned_and_searches_redirected(
    office: Office, shop: Store, owner: Member
) -> None:
    editor = SearchRuleEditor(office.services.database, shop, office.services.clock)
    pin = {"q": "seat", "action": "pin", "find": "sofa", "pin": "sofa-2"}
    shown = owner.post(f"{IMPROVE}/preview", page=IMPROVE, **pin)
    assert "Pinned for this query" in text_of(shown)
    assert not editor.rules()
    assert "sofa-2" not in text_of(owner.get("/dashboard/audit"))
    unknown = owner.post(IMPROVE, **{**pin, "pin": "no-such"})
    assert unknown.status == 422
    assert owner.post(IMPROVE, **pin).status == 303

    away = {"q": "help", "action": "redirect"}
    refused = owner.post(IMPROVE, **away, address="javascript:alert(1)")
    assert refused.status == 422
    assert 'value="javascript:alert(1)"' in refused.body.decode()
    assert owner.post(IMPROVE, **away, address="/help").status == 303
    listed = flat_text(owner.get("/dashboard/search"))
    assert "Pin seat: sofa-2" in listed
    assert "Redirect help: /help" in listed
    assert "sofa zebra 1 1 Finds similar products" in listed
    away["q"] = "sofa zebra"
    assert owner.post(IMPROVE, **away, address="/zebra").status == 303
    assert "sofa zebra 1 1 Redirects now" in flat_text(owner.get("/dashboard/search"))


def test_a_viewer_reads_and_changes_nothing(office: Office, shop: Store) -> None:
    viewer = Member(office.inside)
    viewer.log_in(add_user(office.services, shop, Role.VIEWER))

    page = viewer.get("/dashboard/search?q=sofa").body.decode()
    assert IMPROVE not in page
    fields = {"q": "x", "action": "synonym", "texts": "y"}
    assert viewer.post(IMPROVE, **fields, page=IMPROVE).status == 403
