"""`productrecs train`: trains at once."""

import json

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
