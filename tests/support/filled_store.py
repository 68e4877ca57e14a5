"""Filled store: texts of the test's choice in every field that a store can hold.

`fill` writes through the API and the editors, as a merchant, a plugin or a shopper would;
where a field refuses a text it holds nothing of it, and `Filled.held` counts what it took.
"""

from __future__ import annotations

import contextlib
import http
import itertools
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from productrecs.core.errors import ProductRecsError
from productrecs.core.timestamps import iso
from productrecs.features.live_events.live_event import LiveEvent, LiveEventVerdict
from productrecs.features.live_events.repository import LiveEventRepository
from productrecs.features.looks.look import Hotspot, LookContent, validate_look
from productrecs.features.looks.look_editor import LookEditor
from productrecs.features.search.relevance.query_set import (
    RefusedQuerySetChangeError,
    add_query_by_hand,
    store_or_delete_hand_judgement,
)
from productrecs.features.search.relevance.relevance_measure import RelevanceGrade
from productrecs.features.search.search_rule_editor import SearchRuleEditor
from productrecs.features.search.search_rules import SearchRule, SearchRuleAction
from productrecs.features.webhooks.repository import WebhookRepository
from productrecs.features.webhooks.webhook import (
    DeliveryAttemptResult,
    WebhookEndpoint,
    WebhookEndpointState,
    WebhookEvent,
    new_endpoint_id,
    new_secret,
)
from productrecs.features.widgets.repository import WidgetRepository
from productrecs.features.widgets.widget_config import WidgetConfigChange
from productrecs.records.experiments.experiment import (
    PLACEMENT,
    ExperimentContent,
    Treatment,
)
from productrecs.records.experiments.experiment_editor import ExperimentEditor
from productrecs.records.merchandising.rule import RuleAction, RuleContent, RuleTarget
from productrecs.records.merchandising.rule_editor import RuleEditor
from productrecs.records.placements.bundle import BundleContent
from productrecs.records.placements.bundle_editor import BundleEditor
from productrecs.records.placements.placement import PlacementContent
from productrecs.records.placements.placement_editor import PlacementEditor
from productrecs.records.search_counts.repository import (
    QuestionCount,
    SearchCount,
    SearchCountRepository,
)
from productrecs.records.uploads.file_import import ImportStatus, NewFileImport
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.records.uploads.upload_folder import new_upload_id
from productrecs.storage.sql.audit_log import AuditEntry, AuditLogRepository
from productrecs.storage.sql.removed_rows import RemovedRows
from productrecs.tenancy.accounts.key_misuse.repository import (
    KeyMisuse,
    KeyMisuseRepository,
    MisuseKind,
)
from productrecs.tenancy.accounts.store_management import (
    Registration,
    change_origins,
    register_store,
)
from productrecs.tenancy.accounts.team_members import create_member_invitation
from productrecs.tenancy.billing.plans_and_subscriptions import DEFAULT_PLANS
from productrecs.tenancy.users.access_tokens.access_token import (
    AccessTokenCreationError,
    create_access_token,
)
from productrecs.tenancy.users.dashboard_user import DashboardUser, Role, normalise_email
from productrecs.tenancy.users.login_and_sessions import begin_session
from productrecs.tenancy.users.passwords import validate_and_hash_password
from productrecs.tenancy.users.random_tokens import hash_token
from productrecs.tenancy.users.repository import SessionBrowser, UserRepository
from tests.support.dashboard import PASSWORD
from tests.support.service import Account, Merchant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from productrecs.core.clock import Clock
    from productrecs.core.ids import StoreId
    from productrecs.storage.sql.database import Database
    from productrecs.tenancy.accounts.store import Store
    from tests.support.service import Requester

_BOX: Final = (0.1, 0.1, 0.5, 0.5)
_TODAY: Final = 10  # letters of a date
_TOLD: Final = (
    *("rows", "inserted", "overwritten", "deduplicated", "left_out", "skipped"),
)
_MOST_FILES: Final = 32  # of which half stay open
_UPLOAD: Final = "multipart/form-data; boundary=cut"


@dataclass
class Filled:
    """A store with texts in it, and the ids of what holds them."""

    database: Database
    clock: Clock
    store: Store
    merchant: Merchant
    ids: dict[str, str] = field(default_factory=dict)  # by kind: the first of it
    held: Counter[str] = field(default_factory=Counter)  # texts taken, by field


def open_store(database: Database, clock: Clock, client: Requester, domain: str) -> Filled:
    """Register a store whose owner is `owner@DOMAIN`; nothing is in it yet."""
    wanted = Registration(
        domain, f"owner@{domain}", PASSWORD, DEFAULT_PLANS["unlimited"], {}
    )
    store, secret = register_store(database, wanted, clock)
    account = Account(store.store_id, domain, store.publishable_key, secret)
    filled = Filled(database, clock, store, Merchant(account, client))
    filled.ids["store"] = store.store_id
    return filled


def fill(filled: Filled, texts: Sequence[str]) -> Filled:
    """Put every text into every field; return what it was given."""
    for writer in (
        _items,
        _orders,
        _events,
        _rules,
        _placements,
        _bundles,
        _search,
        _looks,
        _users,
        _team,
        _files,
        _live,
        _webhooks,
        _others,
    ):
        writer(filled, texts)
    return filled


def _send(
    filled: Filled, name: str, all_: Sequence[Mapping[str, object]], push: str
) -> None:
    """Send a batch; one by one where it is refused as a whole."""
    send = getattr(filled.merchant, push)
    for start in range(0, len(all_), 100):
        batch = all_[start : start + 100]
        if send(*batch).status < http.HTTPStatus.BAD_REQUEST:
            filled.held[name] += len(batch)
            continue
        for one in batch:
            taken = send(one).status < http.HTTPStatus.BAD_REQUEST
            filled.held[name] += taken


def _items(filled: Filled, texts: Sequence[str]) -> None:
    plain = [
        {
            "id": f"{filled.store.domain}-item-{number}",
            "price": 10 + number,
            "stock_qty": 1,
            "title": text,
            "description": text,
            "categories": [text],
            "product_url": text,
            "image_url": text,
        }
        for number, text in enumerate(texts)
    ]
    filled.ids["item"] = str(plain[0]["id"])
    filled.ids["category"] = texts[0]
    _send(filled, "items", plain, "push")
    named = [{"id": text, "sku": text, "title": text, "price": 5} for text in texts]
    _send(filled, "item ids", named, "push")


def _orders(filled: Filled, texts: Sequence[str]) -> None:
    item = filled.ids["item"]
    for text in texts:
        reply = filled.merchant.order(
            text, {"item_id": item, "quantity": 1, "price": 9}, user_id=text
        )
        filled.held["orders"] += reply.status < http.HTTPStatus.BAD_REQUEST
    filled.ids |= {"order": texts[0], "customer": texts[0]}


def _events(filled: Filled, texts: Sequence[str]) -> None:
    item = filled.ids["item"]
    who = [{"user_id": text, "session_id": text} for text in texts]
    sent: list[Mapping[str, object]] = []
    for text, one in zip(texts, who, strict=True):
        listed = {"widget": text, "source": text, "position": 1}
        sent += [
            {"event": "detail-page-view", "item_id": item, **one},
            {"event": "detail-page-view", "item_id": text, **one},
            {"event": "category-view", "item_id": text, **one},
            {"event": "metadata-pref", "item_id": text, **one},
            {"event": "search-pref", "search_query": text, **one},
            {"event": "rec-click", "item_id": item, **listed, **one},
            {"event": "add-to-cart", "item_id": item, **listed, **one},
            {"event": "rec-impression", "item_ids": [item], "widget": text, **one},
        ]
    _send(filled, "events", sent, "track")


def _rules(filled: Filled, texts: Sequence[str]) -> None:
    for text in texts:
        editor = RuleEditor(filled.database, filled.store, filled.clock, text)
        target = RuleTarget(items=(text,), categories=(text,))
        content = RuleContent(RuleAction.BOOST, target, name=text)
        with contextlib.suppress(ProductRecsError):
            filled.ids.setdefault("rule", str(editor.add(content).rule_id))
            filled.held["rules"] += 1


def _placements(filled: Filled, texts: Sequence[str]) -> None:
    editor = PlacementEditor(filled.database, filled.store, filled.clock)
    store = re.sub("[^a-z0-9]", "", filled.store.store_id.lower())
    for number, text in enumerate(texts):
        content = PlacementContent(title=text, filters=(f"brand:{text}",))
        with contextlib.suppress(ProductRecsError):
            made = editor.put(f"place-{store}-{number}", content)
            filled.ids.setdefault("placement", made.name)
            filled.held["placements"] += 1
            _test(filled, made.name, text)


def _test(filled: Filled, placement: str, text: str) -> None:
    editor = ExperimentEditor(filled.database, filled.store, filled.clock, text)
    changes = {"title": f"{text} again", "filters": [f"color:{text}"]}
    variant = Treatment("b", 50, changes)
    made = editor.add(
        f"of-{placement}", ExperimentContent(f"{PLACEMENT}{placement}", (variant,))
    )
    filled.ids.setdefault("test", made.name)


def _bundles(filled: Filled, texts: Sequence[str]) -> None:
    editor = BundleEditor(filled.database, filled.store, filled.clock)
    for text in texts:
        with contextlib.suppress(ProductRecsError):
            made = editor.add(BundleContent((filled.ids["item"], text), name=text))
            filled.ids.setdefault("bundle", str(made.bundle_id))
            filled.held["bundles"] += 1


def _search(filled: Filled, texts: Sequence[str]) -> None:
    editor = SearchRuleEditor(filled.database, filled.store, filled.clock)
    for number, text in enumerate(texts):
        pin = SearchRule(SearchRuleAction.PIN, text, (text,))
        away = SearchRule(SearchRuleAction.REDIRECT, f"away {number}", address=text)
        with contextlib.suppress(ProductRecsError):
            filled.ids.setdefault("synonym", str(editor.add_synonym(text, "sofa")[0]))
            filled.held["synonyms"] += 1
        for rule in (pin, away):
            with contextlib.suppress(ProductRecsError):
                filled.ids.setdefault("search_rule", str(editor.add_rule(rule)[0]))
                filled.held["search rules"] += 1
    # What the counter of searches stores once somebody stayed with a search.
    today = _day(filled)
    count = SearchCount("", 3, 2, 3, frozenset())
    with filled.database.transaction() as transaction:
        counts = {
            f"q{number}": count._replace(text=text) for number, text in enumerate(texts)
        }
        repository = SearchCountRepository(transaction, filled.store.store_id)
        repository.add(today, counts)
        repository.add_questions(today, [QuestionCount("color", 3, 1)])
    filled.ids["query"] = texts[0]
    with contextlib.suppress(RefusedQuerySetChangeError):
        add_query_by_hand(filled.database, filled.store, texts[0], filled.clock())
        store_or_delete_hand_judgement(
            filled.database, filled.store, texts[0], 0, RelevanceGrade.GOOD, filled.clock()
        )


def _day(filled: Filled) -> str:
    return iso(filled.clock())[:_TODAY]


def _looks(filled: Filled, texts: Sequence[str]) -> None:
    editor = LookEditor(filled.database, filled.store, filled.clock)
    item = filled.ids["item"]
    plain = []
    for text in texts:
        spots = (Hotspot(text[:100], _BOX, item),)
        content = LookContent(item, "/look.jpg", text[:200], spots)
        with contextlib.suppress(ProductRecsError):
            plain.append(validate_look(content))
        with contextlib.suppress(ProductRecsError):
            editor.add([replace(content, image_url=text)], publish=True)
            filled.held["look pictures"] += 1
    made = editor.add(plain, publish=True)
    look_id = made[0].look_id
    editor.edit(look_id, replace(plain[0], title=texts[-1][:200]))
    filled.ids["look"] = str(look_id)
    filled.ids["version"] = str(editor.versions(look_id)[0].version)
    filled.held["looks"] += len(made)


def _users(filled: Filled, texts: Sequence[str]) -> None:
    store_id, hashed = filled.store.store_id, validate_and_hash_password(PASSWORD)
    filled.ids["user"] = "user0"
    with filled.database.transaction() as transaction:
        users = UserRepository(transaction, store_id)
        for number, text in enumerate(texts):
            with contextlib.suppress(ProductRecsError):
                email = normalise_email(f"{number}{''.join(text.split())[:50]}@a.example")
                role = Role.VIEWER if number else Role.OWNER
                user = DashboardUser(store_id, f"user{number}", email, role, hashed)
                users.add(user, filled.clock())
                filled.held["users"] += 1


def _live(filled: Filled, texts: Sequence[str]) -> None:
    """Store what the live view of events shows."""
    now = filled.clock()
    events = [
        LiveEvent(now, verdict, text[:32], text[:128], text[:128], "", text, text)
        for text, verdict in zip(texts, itertools.cycle(LiveEventVerdict), strict=False)
    ]
    with filled.database.transaction() as transaction:
        LiveEventRepository(transaction, filled.store.store_id).add_and_delete_old(events)
    filled.held["live events"] += len(events)


def _files(filled: Filled, texts: Sequence[str]) -> None:
    """Store files that were checked, imported and refused, with the texts in each field."""
    moves: list[tuple[ImportStatus, dict[str, object]]] = []
    for text in texts:
        problems = {"columns": ["row", text], "cells": [["2", text]]}
        read: dict[str, object] = {
            "kind": "items",
            "format": "columns",
            "formats": [["csv", text]],
            "columns": [text],
            "fields": ["id"],
            "required": ["id"],
            "mapping": {"id": text},
            "counts": dict.fromkeys(_TOLD, 1),
            "notes": [text],
            "rows": problems,
            "errors": [[3, text]],
        }
        done = {"counts": dict.fromkeys(_TOLD, 1), "errors": [[3, text]], "kept": 1}
        moves += [
            (ImportStatus.CHECKED, {"preview": read}),
            (ImportStatus.CHECKED, {"preview": {"problem": text}}),
            (ImportStatus.DONE, {"result": {**done, "notes": [text]}, "rejects": text}),
            (ImportStatus.FAILED, {"result": {"problem": text}}),
        ]
    for number, (status, values) in enumerate(moves[:_MOST_FILES]):
        name = texts[number // 4 % len(texts)]
        new = NewFileImport(new_upload_id(), name, 1, name, filled.clock())
        with filled.database.transaction() as transaction:
            repository = FileImportRepository(transaction, filled.store.store_id)
            with contextlib.suppress(ProductRecsError):
                repository.add(new)
                repository.change_status(
                    new.import_id, [ImportStatus.CHECKING], status, **values
                )
                filled.ids.setdefault("file", new.import_id)
                filled.held["files"] += 1


def _team(filled: Filled, texts: Sequence[str]) -> None:
    """Fill invitations, the audit log and sessions."""
    store_id, now_ms = filled.store.store_id, filled.clock()
    with filled.database.reading() as connection:
        user = next(
            one
            for one in UserRepository(connection, store_id).all()
            if one.user_id == filled.ids["user"]
        )
    for number, text in enumerate(texts[:20]):
        with contextlib.suppress(ProductRecsError):
            email = f"{number}{''.join(text.split())[:50]}@b.example"
            token = create_member_invitation(
                filled.database, user, email, Role.EDITOR, now_ms
            )
            filled.ids.setdefault("invitation", hash_token(token))
            filled.held["invitations"] += 1
        browser = SessionBrowser(text, text)
        session = begin_session(filled.database, user, now_ms, browser=browser)
        filled.ids.setdefault("session", hash_token(session.token))
        with contextlib.suppress(AccessTokenCreationError):
            access, _ = create_access_token(
                filled.database, store_id, text, Role.EDITOR, text, now_ms
            )
            filled.ids.setdefault("token", access.token_id)
            filled.held["access tokens"] += 1
    with filled.database.transaction() as transaction:
        log = AuditLogRepository(transaction, store_id)
        for text in texts:
            removed = RemovedRows("synonyms", "search_seq", ())
            log.add(AuditEntry(now_ms, text, text, text, undo=removed.as_json()))
        filled.ids["audit"] = log.page(1)[0].entry_id


def _webhooks(filled: Filled, texts: Sequence[str]) -> None:
    """Fill an endpoint and its log."""
    secret, now_ms = new_secret(), filled.clock()
    endpoint = WebhookEndpoint(
        new_endpoint_id(),
        "https://hooks.example/",
        secret,
        WebhookEndpointState.OFF,
        now_ms,
    )
    filled.ids["endpoint"] = endpoint.endpoint_id
    with filled.database.transaction() as transaction:
        webhooks = WebhookRepository(transaction, filled.store.store_id)
        webhooks.add_endpoint(endpoint)
        for text in texts[:20]:
            data = {"store": text}
            webhooks.enqueue(endpoint.endpoint_id, WebhookEvent.PING, data, now_ms)
            newest = webhooks.newest_messages(endpoint.endpoint_id, 1)[0]
            webhooks.record_attempt_and_schedule_retry(
                newest, DeliveryAttemptResult(None, text), now_ms
            )
            filled.held["webhooks"] += 1


def _others(filled: Filled, texts: Sequence[str]) -> None:
    """Fill origins, widgets, key misuse, and the errors of an import."""
    store_id: StoreId = filled.store.store_id
    now_ms = filled.clock()
    for number, text in enumerate(texts):
        for origin in (text, f"https://{text}"):
            with contextlib.suppress(ProductRecsError, ValueError):
                change_origins(filled.database, filled.store, add=[origin])
                filled.held["origins"] += 1
        settings = {"title": text, "cta_text": text, "accent_color": text, text[:60]: text}
        change = WidgetConfigChange(settings=settings, custom_css=text)
        kind = ("recs", "fbt", "cart", "search", f"own{number % 20}")[number % 5]
        with (
            contextlib.suppress(ProductRecsError),
            filled.database.transaction() as transaction,
        ):
            WidgetRepository(transaction, store_id).merge_change(kind, change, now_ms)
            filled.held["widgets"] += 1
    seen = [
        KeyMisuse(store_id, kind, text, now_ms) for text in texts for kind in MisuseKind
    ]
    with filled.database.transaction() as transaction:
        KeyMisuseRepository(transaction, store_id).add(seen)
    filled.ids["origin"] = "https://origin.example"
    lines = [f"{_quoted(text)},{_quoted(text)},never,x" for text in texts]
    table = "\n".join(["order_id,item_id,date,quantity", *lines])
    name = texts[0].replace('"', "'").replace("\r", "").replace("\n", "")
    part = (
        f'--cut\r\ncontent-disposition: form-data; name="file"; filename="{name}"\r\n'
        f"content-type: text/csv\r\n\r\n{table}\r\n--cut--\r\n"
    ).encode("utf-8", "replace")
    sent = filled.merchant.server | {"content-type": _UPLOAD}
    reply = filled.merchant.client.ask("POST", "/orders/upload", part, sent)
    if reply.status < http.HTTPStatus.BAD_REQUEST:
        filled.ids["upload"] = str(reply.json.get("upload_id", ""))
        filled.held["uploads"] += 1


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""').replace("\n", " ").replace("\r", " ") + '"'
