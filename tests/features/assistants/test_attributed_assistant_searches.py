"""What of an assistant's attribution is counted, and for how long."""

import pytest

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.features.assistants.attributed_assistant_searches import (
    MAX_VALUES,
    OTHER,
    normalized_value_or_other,
    searches_to_count_by_attribution,
)
from productrecs.features.assistants.repository import AssistantSearchSourceRepository
from productrecs.storage.sql.database import Database

STORE = StoreId("st_a")
NOW_MS = 20_000 * DAY_MS


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Spring_2026", "spring_2026"),
        ("  spring   sale ", "spring sale"),
        ("été", "été"),
        ("anna@mail.example", OTHER),
        ("+49 151 1234567", OTHER),
        ("4111111111111111", OTHER),
        ("3f2a8c1e-77d0-4b7e-9a51-0c4a8d2f6e10", OTHER),
        ("https://shop.example/?u=1", OTHER),
        ("x" * 41, OTHER),
        ("\x00", OTHER),
    ],
)
def test_a_value_that_may_name_a_person_is_counted_as_other(text: str, value: str) -> None:
    assert normalized_value_or_other(text) == value


def test_only_source_medium_and_campaign_are_counted() -> None:
    attribution = {
        "campaign_source": "Chat",
        "utm_campaign": "May",
        "gclid": "x",
        "medium": " ",
    }

    found = searches_to_count_by_attribution(STORE, attribution, NOW_MS)

    assert [(one.parameter, one.value) for one in found] == [
        ("source", "chat"),
        ("campaign", "may"),
    ]
    assert searches_to_count_by_attribution(STORE, None, NOW_MS) == []


def test_counts_are_those_of_one_store_and_end_after_30_days(database: Database) -> None:
    def add(store_id: StoreId, source: str, days_ago: int = 0) -> None:
        at_ms = NOW_MS - days_ago * DAY_MS
        searches = searches_to_count_by_attribution(store_id, {"source": source}, at_ms)
        with database.transaction() as transaction:
            AssistantSearchSourceRepository(
                transaction, store_id
            ).add_counts_and_delete_old(searches)

    add(STORE, "old", 30)
    add(StoreId("st_b"), "elsewhere")
    add(STORE, "chat", 29)
    add(STORE, "chat")
    add(STORE, "chat")

    with database.reading() as connection:
        counts = AssistantSearchSourceRepository(
            connection, STORE
        ).recent_searches_by_parameter(NOW_MS)
    assert counts == {"source": {"chat": 3}, "medium": {}, "campaign": {}}


def test_values_after_the_first_50_are_counted_together(database: Database) -> None:
    names = [f"campaign {chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(60)]
    searches = [
        one
        for name in names
        for one in searches_to_count_by_attribution(STORE, {"utm_campaign": name}, NOW_MS)
    ]

    with database.transaction() as transaction:
        AssistantSearchSourceRepository(transaction, STORE).add_counts_and_delete_old(
            searches
        )
        counts = AssistantSearchSourceRepository(
            transaction, STORE
        ).recent_searches_by_parameter(NOW_MS)

    assert len(counts["campaign"]) == MAX_VALUES + 1
    assert counts["campaign"][OTHER] == 10
