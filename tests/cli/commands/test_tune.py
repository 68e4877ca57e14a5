"""`productrecs tune`: hyperparameters, also tuned by the background job."""

import threading

from productrecs.engines.copurchase import CopurchaseOptions
from productrecs.services import Services
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.training.tuning.repository import HyperparameterRepository, TunedParameters
from productrecs.worker.child_process_jobs import TuningJobHandler
from productrecs.worker.job_worker import JobProgress
from tests.cli.conftest import BOTH, CommandLine


def test_a_store_without_a_past_keeps_the_defaults(shell: CommandLine, shop: str) -> None:
    assert "Nothing was tuned yet" in shell("tune", shop, "--show")

    result = shell.json("tune", shop)

    assert result["engines"] == []
    assert result["changes"] == {"companions": {}}
    assert shell.json("tune", shop, "--show") == result
    assert "not enough history" in shell("tune", shop, "--show")


def test_what_was_chosen_is_shown(
    shell: CommandLine, shop: str, services: Services
) -> None:
    chosen = CopurchaseOptions(prior=20.0)
    store = find_store(services.database, shop)
    with services.database.transaction() as transaction:
        repository = HyperparameterRepository(transaction, store.store_id)
        repository.store(TunedParameters(chosen, 0, 0))

    said = shell("tune", shop, "--show")

    assert "what is bought together: prior=20" in said
    assert "prior=20" in shell("evaluate", shop)


@BOTH
def test_the_background_chooses_and_then_has_the_store_learn(
    shop: str, services: Services
) -> None:
    store = find_store(services.database, shop)
    with services.database.transaction() as transaction:
        services.queue.enqueue(transaction, NewJob(store.store_id, "choose-constants"))
    job = services.queue.claim(["choose-constants"])
    assert job is not None

    TuningJobHandler(services).tune_and_enqueue_training(
        job, JobProgress(threading.Event())
    )

    with services.database.reading() as connection:
        assert HyperparameterRepository(connection, store.store_id).last_tuned() is not None
    waiting = services.queue.claim(["train"])
    assert waiting is not None
    assert waiting.store_id == store.store_id
