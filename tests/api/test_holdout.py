"""Holdout: a share of the shoppers gets empty lists, the same shoppers everywhere."""

import pytest
import sqlalchemy as sa

from productrecs.storage.sql.tables import exposures
from productrecs.tenancy.accounts.store_management import change_settings, find_store
from tests.support.service import Merchant, Service, eventually


@pytest.fixture(scope="module")
def shop(service: Service) -> list[Merchant]:
    """Return a store that holds out every second shopper, by each API process."""
    merchant = service.register(holdout_percent="50")
    merchant.push({"id": "a"}, {"id": "b"}, {"id": "c"})
    everywhere = service.everywhere(merchant)
    eventually(lambda: all(len(there.trending().ids) == 3 for there in everywhere))
    return everywhere


def replies(there: Merchant, shopper: str) -> set[bool]:
    """Return whether a shopper's replies are empty, over all endpoints and sources."""
    received = [
        there.recommend(user_id=shopper),
        there.recommend(customer_id=shopper),
        there.recommend(user_id=shopper, item_id="a"),
        there.recommend(user_id=shopper, item_ids="a,b", source="browse"),
        there.recommend(user_id=shopper, num="4", fallback="declared route"),
        there.trending(user_id=shopper),
        there.trending(user_id=shopper, num="2"),
    ]
    assert {reply.status for reply in received} == {200}
    return {reply.ids == [] for reply in received}


def test_a_shopper_is_in_one_arm_on_every_endpoint_and_process(
    shop: list[Merchant],
) -> None:
    arms = {f"s_{n}": [replies(there, f"s_{n}") for there in shop] for n in range(24)}

    assert all(len(set.union(*seen)) == 1 for seen in arms.values())
    held = sum(seen[0] == {True} for seen in arms.values())
    assert 4 <= held <= 20  # one time in 10,000 it is not


def test_somebody_who_signs_in_stays_in_their_arm(shop: list[Merchant]) -> None:
    for n in range(8):
        session, customer = f"s_before{n}", f"customer{n}"
        arm = replies(shop[0], session)
        view = {"event": "detail-page-view", "item_id": "a"}
        shop[0].track({**view, "session_id": session, "user_id": customer})

        for there in shop:
            assert replies(there, customer) == arm
            assert there.recommend(customer_id=customer, user_id=session).ids == (
                [] if arm == {True} else there.recommend(customer_id=customer).ids
            )


def test_a_call_without_identity_is_never_held_out(shop: list[Merchant]) -> None:
    for there in shop:
        assert len(there.trending().ids) == 3
        assert len(there.trending(user_id="").ids) == 3
        assert len(there.recommend().ids) == 3
        assert len(there.recommend(user_id="", customer_id="").ids) == 3
        assert there.recommend(item_id="a").ids


def test_who_met_which_arm_is_stored_soon(service: Service, shop: list[Merchant]) -> None:
    lists = {
        f"s_seen{n}": shop[n % 2].recommend(user_id=f"s_seen{n}").ids for n in range(8)
    }
    store_id = shop[0].account.store_id

    def stored() -> dict[str, str]:
        query = sa.select(exposures.c.identity, exposures.c.arm).where(
            exposures.c.store_id == store_id,
            exposures.c.identity.like("s\\_seen%", escape="\\"),
        )
        with service.database() as database, database.reading() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    eventually(lambda: len(stored()) == 8, 10)
    assert stored() == {name: "shown" if ids else "held_out" for name, ids in lists.items()}


def test_a_store_without_a_test_holds_nobody_out_and_notes_nobody(
    service: Service, merchant: Merchant
) -> None:
    merchant.push({"id": "a"}, {"id": "b"})

    assert all(merchant.recommend(user_id=f"s_{n}").ids for n in range(10))

    query = sa.select(sa.func.count()).where(
        exposures.c.store_id == merchant.account.store_id
    )
    with service.database() as database, database.reading() as connection:
        assert connection.execute(query).scalar_one() == 0


def test_the_share_is_followed_within_a_second(
    service: Service, merchant: Merchant
) -> None:
    merchant.push({"id": "a"}, {"id": "b"})
    everywhere = service.everywhere(merchant)
    assert all(there.recommend(user_id="s_1").ids for there in everywhere)
    with service.database() as database:
        store = find_store(database, merchant.account.domain)
        change_settings(database, store, {"holdout_percent": "90"})

    eventually(
        lambda: (
            sum(not everywhere[0].recommend(user_id=f"s_{n}").ids for n in range(30)) > 15
        ),
        2,
    )
