"""Sizing model: it agrees with what was measured, and docs/sizing.md with the model."""

from dataclasses import replace

import pytest

from benchmarks.sizing import (
    CHECKS,
    Check,
    Costs,
    Load,
    event_latencies,
    learning_times,
    needs,
    quantile,
    tables,
)
from tests.support.project import ROOT

WORST, USUAL = 0.36, 0.15
"""Errors of the model, as the document states them."""


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.figure)
def test_the_model_reproduces_what_was_measured(check: Check) -> None:
    assert abs(check.error(Costs())) <= WORST


def test_most_figures_are_nearer_than_that() -> None:
    errors = sorted(abs(check.error(Costs())) for check in CHECKS)

    assert errors[-3] <= USUAL


def test_the_document_shows_what_the_model_says() -> None:
    document = (ROOT / "docs" / "sizing.md").read_text("utf-8")

    for table in tables(Costs()).split("\n\n"):
        assert table in document


def test_ten_times_the_events_need_ten_times_as_much() -> None:
    small, large = (needs(Load(events), Costs()) for events in (1e9, 1e10))

    assert large.database_gb == pytest.approx(10 * small.database_gb)
    assert large.api_processes == pytest.approx(10 * small.api_processes, rel=0.05)
    assert large.writer_share == pytest.approx(
        small.writer_share, rel=0.1
    )  # of each machine


def test_control_other_costs_do_not_fit() -> None:
    slow_writer = replace(Costs(), gather_ms=100.0)
    slow_training = replace(Costs(), increment_seconds=20.0)

    by_name = {check.figure: check for check in CHECKS}
    assert by_name["latency of events at 1,000/s, p99"].error(slow_writer) > WORST
    assert by_name["time to learn a purchase, p50"].error(slow_training) > WORST


def test_latencies_grow_without_end_beyond_what_a_process_takes() -> None:
    costs = Costs()

    within = quantile(event_latencies(1_000, costs, 5), 0.99)
    beyond = quantile(event_latencies(1.2e6 / costs.event_us, costs, 5), 0.99)

    assert within < 50
    assert beyond > 500


def test_a_long_training_makes_learning_wait_for_its_pause() -> None:
    costs = Costs()

    assert max(learning_times(costs, 1.0)) < 10
    assert max(learning_times(costs, 10.0)) > 10 + costs.longest_pause_seconds
