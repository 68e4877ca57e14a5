"""Webhooks page: addresses, their signing secrets, and the log of what was sent to them."""

from typing import Final
from urllib.parse import urlencode, urlsplit

from productrecs.dashboard.page import (
    Page,
    PageOrRecordNotFoundError,
    Reply,
    Visit,
    form_pages,
    parse_whole_number,
)
from productrecs.dashboard.pages.settings.store_settings import STORE_SETTINGS_PATH
from productrecs.features.webhooks.repository import WebhookRepository
from productrecs.features.webhooks.sample_messages import sample_message
from productrecs.features.webhooks.webhook import (
    LOG_DAYS,
    MAX_ENDPOINTS,
    RefusedWebhookEndpointError,
    WebhookEndpoint,
    WebhookEndpointState,
    WebhookEvent,
    WebhookMessageState,
    new_endpoint_id,
    new_secret,
    parse_endpoint_url,
)
from productrecs.tenancy.users.dashboard_user import Role

WEBHOOKS_PATH: Final = f"{STORE_SETTINGS_PATH}/webhooks"
_PAGE_SIZE: Final = 25
_STATES: Final = {
    WebhookEndpointState.ON: ("on", "good"),
    WebhookEndpointState.OFF: ("off", "warn"),
    WebhookEndpointState.GONE: ("off: it answered 410", "bad"),
}
_MESSAGE_STATES: Final = {
    WebhookMessageState.PENDING: ("waiting", "warn"),
    WebhookMessageState.DELIVERED: ("delivered", "good"),
    WebhookMessageState.FAILED: ("failed", "bad"),
}


EVENTS: Final = {
    WebhookEvent.STOCKOUT_FORESEEN: "A stockout is foreseen",
    WebhookEvent.IMPORT_FINISHED: "An import has finished",
    WebhookEvent.IMPORT_FAILED: "An import has failed",
    WebhookEvent.QUOTA_REACHED: "80 % or 100 % of your calls are used",
    WebhookEvent.TEST_DECIDED: "A test is decided",
    WebhookEvent.SEARCHES_WITHOUT_RESULTS: "The week's searches without results",
    WebhookEvent.KEY_EXPOSED: "Your secret key is seen in a wrong place",
    WebhookEvent.PLAN_ENDING: "Your plan is about to end",
}


def add_webhook_endpoint(visit: Visit) -> Reply:
    """Add an address, and show its secret once."""
    typed, secret = visit.form["address"], new_secret()
    try:
        url = parse_endpoint_url(typed, visit.services.settings.webhook_hosts)
        endpoint = WebhookEndpoint(
            new_endpoint_id(),
            url,
            visit.services.cipher.encrypt_if_keyed(secret),
            WebhookEndpointState.ON,
            visit.now_ms,
        )
        with visit.database.transaction() as transaction:
            webhooks = WebhookRepository(transaction, visit.store.store_id)
            if len(webhooks.endpoints()) >= MAX_ENDPOINTS:
                message = (
                    f"A store has at most {MAX_ENDPOINTS} addresses. Remove one first."
                )
                raise RefusedWebhookEndpointError(message)  # noqa: TRY301 - ends it
            webhooks.add_endpoint(endpoint)
    except RefusedWebhookEndpointError as error:
        return show_webhooks(visit, status=422, typed=typed, error=str(error))
    return show_webhooks(visit, chosen=endpoint.endpoint_id, secret=secret)


def replace_webhook_secret(visit: Visit) -> Reply:
    """Replace an address's secret, and show the new one once."""
    endpoint, secret = _chosen_webhook_endpoint(visit), new_secret()
    stored = visit.services.cipher.encrypt_if_keyed(secret)
    with visit.database.transaction() as transaction:
        webhooks = WebhookRepository(transaction, visit.store.store_id)
        webhooks.set_secret(endpoint.endpoint_id, stored)
    return show_webhooks(visit, chosen=endpoint.endpoint_id, secret=secret)


def switch_webhook_endpoint(visit: Visit) -> Reply:
    """Switch an address on or off."""
    endpoint, is_on = _chosen_webhook_endpoint(visit), bool(visit.form["on"])
    state = WebhookEndpointState.ON if is_on else WebhookEndpointState.OFF
    with visit.database.transaction() as transaction:
        webhooks = WebhookRepository(transaction, visit.store.store_id)
        webhooks.set_state(endpoint.endpoint_id, state)
    said = "The address is on." if is_on else "The address is off. Messages wait."
    return _redirect_to_endpoint(visit, endpoint, said)


def save_chosen_webhook_events(visit: Visit) -> Reply:
    """Choose what an address is told from now on; what waits is still sent."""
    endpoint, chosen = _chosen_webhook_endpoint(visit), visit.form.all("event")
    with visit.database.transaction() as transaction:
        webhooks = WebhookRepository(transaction, visit.store.store_id)
        left_out = {event for event in EVENTS if event.value not in chosen}
        webhooks.set_excluded_events(endpoint.endpoint_id, left_out)
    said = "From now on, the address gets the messages that you chose."
    return _redirect_to_endpoint(visit, endpoint, said)


def remove_webhook_endpoint(visit: Visit) -> Reply:
    """Remove an address with its log."""
    endpoint = _chosen_webhook_endpoint(visit)
    with visit.database.transaction() as transaction:
        webhooks = WebhookRepository(transaction, visit.store.store_id)
        webhooks.remove_endpoint_with_messages(endpoint.endpoint_id)
    return visit.redirect(WEBHOOKS_PATH, "The address and its log are removed.")


def enqueue_webhook_test_message(visit: Visit) -> Reply:
    """Write a sample of the chosen message, which the sender sends within seconds."""
    endpoint, chosen = _chosen_webhook_endpoint(visit), visit.form["event"]
    event = next((event for event in EVENTS if event.value == chosen), WebhookEvent.PING)
    with visit.database.transaction() as transaction:
        webhooks = WebhookRepository(transaction, visit.store.store_id)
        data = sample_message(event, visit.store.domain, visit.system_ms)
        webhooks.enqueue(endpoint.endpoint_id, event, data, visit.system_ms)
    message = "The test message is being sent. The log below shows the answer."
    return _redirect_to_endpoint(visit, endpoint, message)


def requeue_webhook_message(visit: Visit) -> Reply:
    """Send a message of the log again.

    Raises:
        PageOrRecordNotFoundError: when the log does not have it.
    """
    endpoint, number = _chosen_webhook_endpoint(visit), visit.form["number"]
    with visit.database.transaction() as transaction:
        webhooks = WebhookRepository(transaction, visit.store.store_id)
        if not webhooks.requeue(
            endpoint.endpoint_id, parse_whole_number(number) or 0, visit.system_ms
        ):
            message = "The log has no such message."
            raise PageOrRecordNotFoundError(message)
    return _redirect_to_endpoint(
        visit,
        endpoint,
        "The message is being sent again, with the same id.",
    )


def endpoints_of(visit: Visit) -> list[WebhookEndpoint]:
    """Return the store's addresses."""
    with visit.services.database.reading() as connection:
        return WebhookRepository(connection, visit.store.store_id).endpoints()


def _chosen_webhook_endpoint(visit: Visit) -> WebhookEndpoint:
    for endpoint in endpoints_of(visit):
        if endpoint.endpoint_id == visit.form["endpoint"]:
            return endpoint
    message = "This address was removed."
    raise PageOrRecordNotFoundError(message)


def _redirect_to_endpoint(visit: Visit, endpoint: WebhookEndpoint, message: str) -> Reply:
    query = urlencode({"endpoint": endpoint.endpoint_id})
    return visit.redirect(f"{WEBHOOKS_PATH}?{query}", message)


def show_webhooks(
    visit: Visit,
    *,
    status: int = 200,
    chosen: str = "",
    secret: str = "",
    typed: str = "",
    error: str = "",
) -> Reply:
    """Show the addresses, and the log of the chosen one."""
    before = parse_whole_number(visit.query["before"]) or 0
    with visit.database.reading() as connection:
        webhooks = WebhookRepository(connection, visit.store.store_id)
        endpoints, counts = webhooks.endpoints(), webhooks.counts_by_state()
        ids = [endpoint.endpoint_id for endpoint in endpoints]
        asked = chosen or visit.query["endpoint"]
        shown = asked if asked in ids else next(iter(ids), "")
        messages = (
            webhooks.newest_messages(shown, _PAGE_SIZE + 1, before or None) if shown else []
        )
    return visit.render(
        "webhooks.html",
        status=status,
        endpoints=[
            {
                "id": endpoint.endpoint_id,
                "address": endpoint.url
                if visit.may_change
                else host_without_path(endpoint.url),
                "is_on": endpoint.state is WebhookEndpointState.ON,
                "state": _STATES[endpoint.state],
                "events": [
                    (event.value, text, event not in endpoint.left_out)
                    for event, text in EVENTS.items()
                ],
                "counts": counts.get(
                    endpoint.endpoint_id, dict.fromkeys(WebhookMessageState, 0)
                ),
                "secret": secret if endpoint.endpoint_id == chosen else "",
            }
            for endpoint in endpoints
        ],
        shown=shown,
        messages=messages[:_PAGE_SIZE],
        is_sending=not before
        and any(
            not message.attempts and message.state is WebhookMessageState.PENDING
            for message in messages
        ),
        older=messages[_PAGE_SIZE - 1].number if len(messages) > _PAGE_SIZE else 0,
        is_first=not before,
        message_states=_MESSAGE_STATES,
        is_full=len(endpoints) >= MAX_ENDPOINTS,
        log_days=LOG_DAYS,
        typed=typed,
        error=error,
    )


def host_without_path(url: str) -> str:
    """Return only the host: the path may hold the receiver's token."""
    return urlsplit(url).netloc


PAGES: Final = (
    Page(WEBHOOKS_PATH, "Webhooks", show_webhooks, may_change=Role.OWNER),
    *form_pages(
        WEBHOOKS_PATH,
        "Webhooks",
        ("add", add_webhook_endpoint, "Added an address for webhooks"),
        ("secret", replace_webhook_secret, "Replaced a webhook's secret"),
        ("events", save_chosen_webhook_events, "Chose the messages of a webhook"),
        ("switch", switch_webhook_endpoint, "Switched a webhook on or off"),
        ("remove", remove_webhook_endpoint, "Removed an address for webhooks"),
        ("test", enqueue_webhook_test_message, "Sent a test webhook"),
        ("replay", requeue_webhook_message, "Sent a webhook again"),
        may_change=Role.OWNER,
    ),
)
