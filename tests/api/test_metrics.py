"""Metrics: they match what happened, and only the token's owner reads them."""

import json
import os
import re
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest
from prometheus_client import parser
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as read_openmetrics,
)

from productrecs.core.clock import HOUR_MS, system_ms
from productrecs.core.ids import StoreId
from productrecs.features.webhooks.repository import WebhookRepository
from productrecs.features.webhooks.webhook import (
    DeliveryAttemptResult,
    WebhookEndpoint,
    WebhookEndpointState,
    WebhookEvent,
)
from productrecs.services import build_services
from productrecs.settings import Settings
from productrecs.storage.jobs.job_queue import JobAttemptOutcome, add_attempt_to_totals
from tests.api.inside import Inside, of_our_own
from tests.support.project import ROOT
from tests.support.service import (
    METRICS_TOKEN,
    OPERATOR,
    Merchant,
    Requester,
    Service,
    eventually,
)
from tests.support.uploads import process

Labels = tuple[tuple[str, str], ...]
Found = dict[str, dict[Labels, float]]

DEPLOY: Final = ROOT / "deploy" / "prometheus"
NAME: Final = re.compile(r"\b(?:productrecs|http)_[a-z0-9_]+\b")
NO_RESULT: Final[dict[str, list[object]]] = {"results": []}
MEMORY: Final = "productrecs_process_memory_bytes"
LIVE: Final = {"event": "detail-page-view", "item_id": "a", "session_id": "s_secretive"}


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Give a service with two API processes that only these tests use."""
    service = Service(tmp_path_factory.mktemp("busy"), workers=2).prepare()
    with service:
        yield service


def scrape(client: Requester, accept: str = "") -> Found:
    """Return every sample, read by Prometheus' own library; help and type are there."""
    headers = OPERATOR | ({"accept": accept} if accept else {})
    reply = client.ask("GET", "/metrics", None, headers)
    assert reply.status == 200, reply
    read = read_openmetrics if accept else parser.text_string_to_metric_families
    series: Found = {}
    for family in read(reply.body.decode()):
        assert family.documentation, family
        assert family.type != "unknown", family
        for sample in family.samples:
            samples = series.setdefault(sample.name, {})
            labels = tuple(sorted(sample.labels.items()))
            assert labels not in samples, (sample.name, labels)
            samples[labels] = sample.value
    return series


def value(series: Found, name: str, **labels: str) -> float:
    """Return the sum of the samples that have these labels."""
    wanted = set(labels.items())
    return sum(n for said, n in series.get(name, {}).items() if wanted <= set(said))


def requests(series: Found, route: str, **labels: str) -> float:
    return value(series, "http_request_duration_seconds_count", route=route, **labels)


def complete_scrape(client: Requester) -> Found:
    """Scrape until every process has written its numbers, which it does once a second.

    Those of an API process are complete when its last request of `make_use_of` is there.
    """
    series: Found = {}

    def is_complete() -> bool:
        series.clear()
        series.update(scrape(client))
        roles = {dict(labels)["process"] for labels in series.get(MEMORY, {})}
        last = requests(series, "/v1/events", method="OPTIONS")
        return last == 2 and {"api 1", "api 2", "importer", "worker"} <= roles

    eventually(is_complete, 30, pause=0.1)
    return series


def fewest_requests(there: Sequence[Merchant], route: str) -> float:
    """Return a route's requests as counted by the process that knows of the fewest."""
    return min(requests(scrape(one.client), route) for one in there)


def make_use_of(one: Merchant) -> None:
    """Do one of each thing that is counted."""
    one.push({"id": "a"}, {"id": "b"})
    assert one.track(LIVE, LIVE | {"item_id": "b"}).status == 200
    assert one.order("A-1", "a", "b").status == 200
    assert one.recommend(item_id="zzz", source="buy").ids == []
    assert one.recommend(source="mix").ids
    assert one.client.ask("GET", one.target("/v1/search", q="qqqq")).json == NO_RESULT
    assert one.delete("nothing").status == 404
    assert one.client.ask("GET", "/no/such/place").status == 404
    assert one.client.ask("OPTIONS", "/v1/events").status == 200


def test_every_process_reports_the_counts_of_all_processes(busy: Service) -> None:
    merchant = busy.register()
    there = busy.everywhere(merchant)
    before = scrape(there[0].client)
    for one in there:
        make_use_of(one)
    for worker in there:
        after = complete_scrape(worker.client)

        def more(name: str, after: Found = after, **labels: str) -> float:
            return value(after, name, **labels) - value(before, name, **labels)

        assert requests(after, "/v1/items", method="POST", status="200") == 2
        assert requests(after, "/v1/items/{item_id}", method="DELETE", status="404") == 2
        assert requests(after, "other", method="other", status="404") == 2
        assert requests(after, "/v1/events", method="OPTIONS", status="200") == 2
        assert requests(after, "/v1/recommendations") == 4
        assert more("productrecs_events_received_total") == 4
        assert more("productrecs_orders_received_total", outcome="new") == 1
        assert more("productrecs_orders_received_total", outcome="duplicate") == 1
        assert more("productrecs_items_changed_total", change="created") == 2
        assert more("productrecs_items_changed_total", change="updated") == 2
        assert more("productrecs_recommendation_lists_total", source="buy") == 2
        assert more("productrecs_recommendation_lists_empty_total", source="buy") == 2
        assert more("productrecs_recommendation_lists_empty_total", source="mix") == 0
        assert more("productrecs_searches_total") == 2
        assert more("productrecs_searches_empty_total") == 2


def test_a_histogram_counts_each_request_in_every_bucket_that_holds_it(
    busy: Service,
) -> None:
    merchant = busy.register()
    for _ in range(5):
        merchant.trending()
    series = scrape(merchant.client)

    buckets = {
        dict(labels)["le"]: count
        for labels, count in series["http_request_duration_seconds_bucket"].items()
        if ("route", "/v1/trending") in labels
    }

    counts = [buckets[name] for name in sorted(buckets, key=float)]
    assert counts == sorted(counts)
    assert buckets["+Inf"] == requests(series, "/v1/trending") >= 5


def test_jobs_models_and_the_current_state_are_reported(busy: Service) -> None:
    merchant = busy.register()
    merchant.push({"id": "a"})
    merchant.track(LIVE)

    def learned() -> Found | None:
        series = scrape(merchant.client)
        stores = value(series, "productrecs_stores_with_model")
        waits = value(series, "productrecs_learning_lag_seconds")
        trained = value(series, "productrecs_job_attempts_total", kind="train")
        return series if stores and trained and not waits else None

    eventually(lambda: learned() is not None, 60, pause=0.2)
    eventually(
        lambda: value(scrape(merchant.client), "productrecs_ready") == 2, 10, pause=0.2
    )
    series = scrape(merchant.client)

    done = {"kind": "train", "outcome": "done"}
    assert value(series, "productrecs_job_attempts_total", **done) >= 1
    assert value(series, "productrecs_job_duration_seconds_sum", kind="train") > 0
    moment = value(series, "productrecs_job_last_success_timestamp_seconds", kind="train")
    assert moment >= value(series, "productrecs_oldest_model_timestamp_seconds") > 1e9
    assert value(series, "productrecs_database_up") == 1
    assert value(series, "productrecs_database_bytes") > 10_000
    assert value(series, "productrecs_connections") >= 1


def test_a_process_that_is_started_anew_counts_on(busy: Service) -> None:
    there = busy.everywhere(busy.register())
    start = fewest_requests(there, "/v1/trending")
    for one in there:
        one.trending()
    eventually(lambda: fewest_requests(there, "/v1/trending") >= start + 2, 30, pause=0.1)
    before = fewest_requests(there, "/v1/trending")
    first = process(busy, "api 1")

    os.kill(first, signal.SIGKILL)
    eventually(lambda: process(busy, "api 1") != first, 20, pause=0.1)
    for one in busy.everywhere(busy.register()):
        assert requests(scrape(one.client), "/v1/trending") >= before


def test_no_shopper_product_store_or_key_is_in_a_label(busy: Service) -> None:
    merchant = busy.register()
    merchant.push({"id": "a-telling-product"})
    merchant.track(LIVE | {"item_id": "a-telling-product"})
    merchant.recommend(user_id="s_secretive", item_id="a-telling-product")
    merchant.client.ask("GET", "/v1/s_secretive")
    merchant.client.ask("S_SECRETIVE", "/v1/trending")
    account = merchant.account

    text = merchant.client.ask("GET", "/metrics", None, OPERATOR).body.decode().lower()

    for telling in ("s_secretive", "telling", account.store_id, account.domain):
        assert telling.lower() not in text
    assert account.publishable.lower() not in text


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer "},
        {"authorization": f"Bearer {METRICS_TOKEN}x"},
        {"authorization": f"Basic {METRICS_TOKEN}"},
        {"authorization": METRICS_TOKEN},
        {"x-api-key": METRICS_TOKEN},
    ],
)
def test_metrics_need_the_token(service: Service, headers: dict[str, str]) -> None:
    reply = service.client().ask("GET", "/metrics", None, headers)

    assert reply.status == 401
    assert reply.json["code"] == "metrics_token_invalid"
    assert (reply.header("www-authenticate") or "").startswith("Bearer")
    assert b"# HELP" not in reply.body


def test_without_a_token_in_the_settings_metrics_are_closed(data_folder: Path) -> None:
    Service(data_folder).prepare()

    with Inside(of_our_own(build_services(Settings(data=data_folder)))) as inside:
        for headers in ({}, {"authorization": "Bearer "}, {"authorization": "Bearer None"}):
            reply = inside.ask("GET", "/metrics", None, headers)

            assert reply.status == 401
            assert "PRODUCTRECS_METRICS_TOKEN" in reply.json["detail"]


def test_both_formats_say_the_same(service: Service) -> None:
    plain = scrape(service.client())
    other = scrape(service.client(), "application/openmetrics-text; version=1.0.0")

    names = [{name for name in scraped if "_job" not in name} for scraped in (plain, other)]
    assert names[0] == names[1]  # series of jobs come and go


def test_some_stores_have_series_of_their_own_where_the_operator_asks(
    data_folder: Path, database_url: str | None
) -> None:
    service = Service(data_folder, database_url).prepare()
    merchants = [service.register() for _ in range(3)]
    settings = Settings(
        data=data_folder,
        database_url=database_url,
        metrics_token=METRICS_TOKEN,
        metrics_stores=2,
    )
    with Inside(of_our_own(build_services(settings))) as inside:
        assert merchants[0].through(inside).track(LIVE).status == 200
        service.train(merchants[1])
        series = scrape(inside)
        stores = series["productrecs_store_learning_lag_seconds"]

        assert value(series, "productrecs_stores") == 3
        assert [name for labels in stores for _, name in labels] == sorted(
            one.account.store_id for one in merchants
        )[:2]
        # Nobody trains here: what came waits.
        eventually(
            lambda: 0 < value(scrape(inside), "productrecs_learning_lag_seconds") < 60
        )
        assert value(series, "productrecs_stores_with_model") == 1


def test_a_kind_of_jobs_that_never_succeeded_has_0_as_its_last_success(
    data_folder: Path, database_url: str | None
) -> None:
    place = Service(data_folder, database_url).prepare()
    settings = Settings(
        data=data_folder, database_url=database_url, metrics_token=METRICS_TOKEN
    )
    seen = []
    with Inside(of_our_own(build_services(settings))) as inside:
        for outcome in (JobAttemptOutcome.RETRIED, JobAttemptOutcome.DONE):
            with place.database() as database, database.transaction() as transaction:
                add_attempt_to_totals(transaction, "back-up", outcome, 5, HOUR_MS)
            name = "productrecs_job_last_success_timestamp_seconds"
            seen.append(value(scrape(inside), name, kind="back-up"))

    assert seen == [0, 3600]


def test_webhooks_that_wait_are_counted_for_addresses_that_are_on(
    data_folder: Path, database_url: str | None
) -> None:
    service = Service(data_folder, database_url).prepare()
    store_id = StoreId(service.register().account.store_id)
    settings = Settings(
        data=data_folder, database_url=database_url, metrics_token=METRICS_TOKEN
    )
    services = build_services(settings)
    with services.database.transaction() as transaction:
        webhooks = WebhookRepository(transaction, store_id)
        for name in ("on", "off", "gone"):
            url = f"https://{name}.example"
            webhooks.add_endpoint(
                WebhookEndpoint(name, url, "stored", WebhookEndpointState.ON, 0)
            )
        for hours in (5, 2, 1):
            now_ms = system_ms() - hours * HOUR_MS
            webhooks.enqueue_for_subscribed_endpoints(WebhookEvent.PING, {}, now_ms)
            if hours == 5:
                oldest = webhooks.newest_messages("on", 1)[0]
                webhooks.record_attempt_and_schedule_retry(
                    oldest, DeliveryAttemptResult(200, "200"), system_ms()
                )
        webhooks.set_state("off", WebhookEndpointState.OFF)
        webhooks.set_state("gone", WebhookEndpointState.GONE)

    with Inside(of_our_own(services)) as inside:
        series = scrape(inside)

    assert value(series, "productrecs_webhooks_waiting") == 2
    waited = value(series, "productrecs_webhook_wait_seconds")
    assert 2 * 3_600 <= waited < 2 * 3_600 + 600
    for state in ("on", "off", "gone"):
        assert value(series, "productrecs_webhook_endpoints", state=state) == 1


def test_alerts_and_dashboard_ask_for_figures_that_there_are(busy: Service) -> None:
    merchant = busy.register()
    merchant.push({"id": "a"})
    there = set(scrape(merchant.client))
    for path in (DEPLOY / "alerts.yml", DEPLOY / "grafana.json"):
        queried = set(NAME.findall(path.read_text("utf-8"))) - {"http_request"}

        assert queried
        assert (
            queried - there - {"productrecs_jobs", "productrecs_job_wait_seconds"} == set()
        )
    json.loads((DEPLOY / "grafana.json").read_text("utf-8"))


def test_control_an_alert_about_nothing_would_be_found(busy: Service) -> None:
    there = set(scrape(busy.client()))

    assert set(NAME.findall("rate(productrecs_nothing_total[5m]) > 1")) - there
