"""A store's constants can be asked for and shown, and the background chooses them too."""

import threading

from productrecs.entrypoints.services import Services
from productrecs.entrypoints.worker.constants import ConstantsDuties
from productrecs.entrypoints.worker.loop import Progress
from productrecs.storage.job_queue import NewJob
from productrecs.tenancy.accounts.registration import find_store
from productrecs.training.constants.constants import Constants
from productrecs.training.constants.repository import Chosen, ConstantsRepository
from tests.entrypoints.cli.conftest import BOTH, CommandLine


def test_a_store_without_a_past_keeps_the_defaults(shell: CommandLine, shop: str) -> None:
    assert "Nothing was chosen yet" in shell("tune", shop, "--show")

    told = shell.told("tune", shop)

    assert told["engines"] == []
    assert told["changes"] == {"companions": {}, "visits": {}}
    assert shell.told("tune", shop, "--show") == told
    assert shell("tune", shop, "--show").count("too little past to tell") == 2


def test_what_was_chosen_is_shown(
    shell: CommandLine, shop: str, services: Services
) -> None:
    chosen = Constants.of({"visits": {"rarity": 2.0}})
    store = find_store(services.database, shop)
    with services.database.transaction() as transaction:
        repository = ConstantsRepository(transaction, store.store_id)
        repository.keep(Chosen(chosen, ("companions", "visits"), 0, 0))

    said = shell("tune", shop, "--show")

    assert "what comes next: rarity=2" in said
    assert "nothing else was clearly better" in said
    assert "rarity=2" in shell("evaluate", shop)


@BOTH
def test_the_background_chooses_and_then_has_the_store_learn(
    shop: str, services: Services
) -> None:
    store = find_store(services.database, shop)
    with services.database.transaction() as transaction:
        services.queue.enqueue(transaction, NewJob(store.store_id, "choose-constants"))
    job = services.queue.claim(["choose-constants"])
    assert job is not None

    ConstantsDuties(services).choose(job, Progress(threading.Event()))

    with services.database.reading() as connection:
        assert ConstantsRepository(connection, store.store_id).last() is not None
    waiting = services.queue.claim(["train"])
    assert waiting is not None
    assert waiting.store_id == store.store_id
