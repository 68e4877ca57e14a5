"""`productrecs evaluate`: offline evaluation of a store's lists on its own history."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
import msgspec

from productrecs.cli.open_services import open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.features.recommendations.backtest import (
    MIN_ANSWERED,
    MIN_GROUPS,
    BacktestTask,
    BacktestTaskResult,
    MethodMetrics,
    PairedDifference,
    RankingVerdict,
    run_backtest,
)
from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store
from productrecs.training.repository import TrainingRepository
from productrecs.training.training_inputs import read_log_without_searches
from productrecs.training.tuning.repository import (
    HyperparameterRepository,
    changes_from_defaults,
)

_TITLES: Final = {
    BacktestTask.VISIT: ("the next product of a visit, on a product page", "visits"),
    BacktestTask.ORDER: ("another product of the same order, on a product page", "orders"),
    BacktestTask.CART: ("the product of an order that is missing in the cart", "orders"),
}
_TOO_FEW_LISTS: Final = f"not enough data: it filled fewer than {MIN_ANSWERED} lists"
_HEAD: Final = (
    "                recall@20  MRR@20  nDCG@10  coverage  novelty  beside popularity"
)


@click.command()
@click.argument("domain")
@click.option(
    "--questions",
    type=click.IntRange(100, 1_000_000),
    default=2_000,
    show_default=True,
    help="The most lists to make for each task.",
)
@json_option
@data_option
def evaluate(domain: str, *, questions: int, as_json: bool, data: Path | None) -> None:
    """Backtest the engines on a store's history: train on the past, predict what came next.

    Compares each engine and their blend with trending: recall@20, MRR@20, nDCG@10 and
    catalog coverage, with 95 % intervals. Engines use the default hyperparameters here:
    tuned ones were chosen on the same history and would look better than they are.

    Example: productrecs evaluate shop.example.com
    """
    with open_store(data, domain) as (services, store):
        results = list(_run_backtest_tasks(services, store, questions))
        with services.database.reading() as connection:
            options = HyperparameterRepository(connection, store.store_id).options()
    changes = changes_from_defaults(options)
    if as_json:
        print_json(
            {
                "domain": domain,
                "tasks": msgspec.to_builtins(results),
                "own_constants": {"companions": changes},
            }
        )
        return
    for outcome in results:
        for line in _backtest_task_lines(outcome):
            click.echo(line)
    if changes:
        tuned = ", ".join(f"{name}={value:g}" for name, value in changes.items())
        click.echo(f"The store's engines use tuned hyperparameters: {tuned}.")


def _run_backtest_tasks(
    services: Services, store: Store, questions: int
) -> Iterator[BacktestTaskResult]:
    with services.database.reading() as connection:
        inputs, head = read_log_without_searches(
            TrainingRepository(connection, store.store_id)
        )
    yield from run_backtest(inputs, head.n_items, store.settings, questions)


def _backtest_task_lines(outcome: BacktestTaskResult) -> Iterator[str]:
    title, groups = _TITLES[outcome.task]
    yield title
    if not outcome.scores:
        shortage = f"{outcome.groups} {groups} to ask about, {MIN_GROUPS} are needed"
        yield f"  not enough data: {shortage}"
        yield ""
        return
    day = datetime.fromtimestamp(outcome.since_ms / 1000, UTC).date()
    questions = f"{outcome.questions:,} questions of {outcome.groups:,} {groups}"
    yield f"  trained on history before {day}; {questions} since then"
    yield _HEAD
    for score in outcome.scores:
        yield _score_row(score)
    yield ""


def _score_row(score: MethodMetrics) -> str:
    comparison = _TOO_FEW_LISTS if score.verdict is RankingVerdict.UNKNOWN else ""
    if score.difference is not None:
        comparison = _comparison_text(score.difference)
    return (
        f"  {score.method:<13} {score.recall_at_20:>9.3f}  {score.mrr_at_20:>6.3f}  "
        f"{score.ndcg_at_10:>7.3f}  {score.coverage:>8.1%}  {score.novelty:>7.1f}  "
        f"{comparison}"
    ).rstrip()


def _comparison_text(difference: PairedDifference) -> str:
    verdict = {"level": "no significant difference"}.get(
        difference.verdict, difference.verdict
    )
    return (
        f"{difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]: {verdict}"
    )
