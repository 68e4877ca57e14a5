"""`productrecs train`: trains at once."""

import json
import sys

import pytest

from productrecs.services import Services
from productrecs.storage.files.model_files import open_arrays
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.training.trained_models import models_folder
from tests.cli.conftest import CommandLine


def test_training_leaves_the_model_that_it_names(
    shell: CommandLine, shop: str, services: Services
) -> None:
    rows = "".join(f"B-{number % 9},item-{number % 4}\n" for number in range(40))
    shell("import-orders", shop, "-", "--ordered-today", stdin="order_id,item_id\n" + rows)

    result = shell.json("train", shop, "--engine", "buy")

    store = find_store(services.database, shop)
    arrays, _ = open_arrays(
        models_folder(services.models, store.store_id) / result["model"]
    )
    assert result["engine"] == "buy"
    assert any(name.startswith("copurchase.") for name in arrays)
    assert "model" in shell("train", shop)


def test_a_store_without_a_past_can_be_trained(shell: CommandLine, shop: str) -> None:
    assert json.loads(shell("train", shop, "--json"))["seconds"] >= 0


def test_an_engine_that_there_is_not_is_refused(shell: CommandLine, shop: str) -> None:
    result = shell.run("train", shop, "--engine", "magic")

    assert result.exit_code == 2
    assert "complementary" in result.stderr


def test_without_its_extra_or_a_scheduler_a_cluster_is_an_error_that_says_what_to_do(
    shell: CommandLine, shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("productrecs.training.dask_cluster._CONNECT_SECONDS", 0.2)
    unreachable = shell.run("train", shop, "--cluster", "tcp://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "distributed", None)
    missing = shell.run("train", shop, "--cluster", "tcp://127.0.0.1:9")

    assert (unreachable.exit_code, missing.exit_code) == (1, 1)
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in unreachable.stderr
    assert "without --cluster this machine trains alone" in unreachable.stderr
    assert "pip install 'productrecs[cluster]'" in missing.stderr
