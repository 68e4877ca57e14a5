"""`productrecs measure-search`: measures how relevant a store's search results are."""

import os
from pathlib import Path
from typing import Final

import click

from productrecs.cli.open_services import open_services_as_owner
from productrecs.cli.options import data_option, json_option, parent_option
from productrecs.cli.output import print_json
from productrecs.core.timestamps import iso
from productrecs.features.search.relevance.relevance_monitoring import (
    judge_clicks_and_store_measure,
)
from productrecs.features.search.relevance.repository import StoredMeasure
from productrecs.processes.process_messages import ParentConnection
from productrecs.services import Services
from productrecs.serving.cached_store import load_store, searchable_store
from productrecs.serving.open_stores import query_embedders
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import find_store

_POLITE: Final = 10


@click.command("measure-search")
@click.argument("domain")
@parent_option
@json_option
@data_option
def measure_and_record_search(
    domain: str, *, parent: ParentConnection | None, as_json: bool, data: Path | None
) -> None:
    """Measure a store's search by its own queries: NDCG@10, empty results, clicks.

    Usually unnecessary: the worker does it each night, and after a change of synonyms or
    rules. The measure is added to the history of the page Search relevance.

    Example: productrecs measure-search shop.example.com
    """
    if parent is not None:
        os.nice(_POLITE)
    with open_services_as_owner(data) as services:
        measure = _measure_and_store(services, find_store(services.database, domain))
    if parent is not None:
        return
    if as_json:
        print_json(_measure_fields(measure))
    elif not measure.queries:
        click.echo(
            "No queries yet. Search is measured by the queries of its shoppers, or by "
            "those that you add on the page Search relevance."
        )
    else:
        click.echo(_describe_measure(measure))


def _measure_and_store(services: Services, store: Store) -> StoredMeasure:
    searchable = searchable_store(load_store(services, store, query_embedders(services)))
    return judge_clicks_and_store_measure(
        services.database, store, searchable, services.clock()
    )


def _measure_fields(measure: StoredMeasure) -> dict[str, object]:
    return {
        "measured_at": iso(measure.measured_at),
        "ndcg_at_10": measure.ndcg,
        "ndcg_at_10_before": measure.ndcg_before,
        "no_result_share": measure.no_results,
        "click_through": measure.click_through,
        "queries": measure.queries,
        "judged_queries": measure.judged_queries,
        "alarm": measure.is_alarm,
        "changes": [one.text for one in measure.changes],
    }


def _describe_measure(measure: StoredMeasure) -> str:
    ndcg = "unknown" if measure.ndcg is None else f"{measure.ndcg:.3f}"
    lines = [
        f"NDCG@10 {ndcg}, from {measure.judged_queries} of {measure.queries} queries.",
        f"{measure.no_results or 0:.1%} of the searches find nothing.",
    ]
    if measure.is_alarm:
        changes = "; ".join(one.text for one in measure.changes) or "unknown"
        lines.append(
            f"Alarm: it was {measure.ndcg_before:.3f} before. What changed: {changes}."
        )
    return "\n".join(lines)
