"""Opened mail repository: the products that mails show, and how often slots were opened."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.features.mail_slots.mail_slot import (
    COUNTED_DAYS,
    KEPT_DAYS,
    MailProduct,
    MailResource,
)
from productrecs.storage.sql.dialects import put_row
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import mail_choices, mail_days
from productrecs.tenancy.accounts.repository import AccountRepository

if TYPE_CHECKING:
    from collections.abc import Sequence

    from productrecs.core.ids import StoreId
    from productrecs.features.mail_slots.mail_slot import (
        CampaignMail,
        MailEngagement,
        MailProductSelection,
    )
    from productrecs.storage.sql.dialects import RawReader

_DAYS: Final = ", ".join("?" * KEPT_DAYS)  # one look-up by the primary key each
_CHOICE_SQL: Final = (
    f"SELECT day, products FROM mail_choices WHERE store_id = ? AND day IN ({_DAYS}) "  # noqa: S608 - own words
    "AND recipient = ? AND mail = ? ORDER BY day DESC LIMIT 1"
)
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(tuple[MailProduct, ...]).decode


@dataclass(frozen=True, slots=True)
class MailSlotCounts:
    """How often the pictures of a slot were loaded, and its links clicked."""

    pictures: int = 0  # without those of proxies
    proxy_pictures: int = 0
    clicks: int = 0


def read_day_and_mail_products(
    reader: RawReader, store_id: StoreId, mail: CampaignMail, today: int
) -> tuple[int, tuple[MailProduct, ...]] | None:
    """Return the day of a mail's selection, and its products; None without one."""
    days = range(today - KEPT_DAYS + 1, today + 1)
    rows = reader.all(_CHOICE_SQL, (store_id, *days, mail.recipient, mail.digest))
    return (int(rows[0][0]), _decode(rows[0][1])) if rows else None


def store_mail_products_and_delete_old(
    transaction: sa.Connection, batch: Sequence[MailProductSelection]
) -> None:
    """Store the products of mails of any stores, and delete those older than a week."""
    columns = mail_choices.c
    for store_id, selections in AccountRepository(transaction).lock_each_store(batch):
        newest = {(selection.mail, selection.day): selection for selection in selections}
        for selection in newest.values():
            put_row(
                transaction,
                mail_choices,
                store_id=store_id,
                recipient=selection.mail.recipient,
                mail=selection.mail.digest,
                day=selection.day,
                products=_encode(selection.products).decode(),
            )
        oldest = max(selection.day for selection in selections) - KEPT_DAYS
        is_old = (columns.store_id == store_id) & (columns.day <= oldest)
        transaction.execute(mail_choices.delete().where(is_old))


def count_mail_engagements_and_delete_old(
    transaction: sa.Connection, batch: Sequence[MailEngagement]
) -> None:
    """Count loaded pictures and clicks of any stores, and delete old counts."""
    columns = mail_days.c
    for store_id, calls in AccountRepository(transaction).lock_each_store(batch):
        counts = Counter((call.day, call.slot, _count_column(call)) for call in calls)
        for (day, slot, column), count in sorted(counts.items()):
            sums: dict[str, Any] = {"pictures": 0, "proxy_pictures": 0, "clicks": 0}
            sums[column] = count
            put_row(
                transaction,
                mail_days,
                summed_columns=sums,
                store_id=store_id,
                day=day,
                slot=slot,
                **sums,
            )
        oldest = max(call.day for call in calls) - COUNTED_DAYS
        is_old = (columns.store_id == store_id) & (columns.day <= oldest)
        transaction.execute(mail_days.delete().where(is_old))


def _count_column(call: MailEngagement) -> str:
    if call.part is MailResource.LINK:
        return "clicks"
    return "proxy_pictures" if call.is_proxy else "pictures"


class MailSlotCountRepository(StoreScopedRepository):
    """One store's counts, inside one transaction; only reads."""

    def recent_counts_by_slot(self, now_ms: int) -> dict[str, MailSlotCounts]:
        """Return the counts of each slot in the last 30 days."""
        columns = mail_days.c
        sums = (
            sa.func.sum(columns[name]) for name in ("pictures", "proxy_pictures", "clicks")
        )
        query = (
            sa.select(columns.slot, *sums)
            .where(
                columns.store_id == self._store_id,
                columns.day > now_ms // DAY_MS - COUNTED_DAYS,
            )
            .group_by(columns.slot)
        )
        return {
            slot: MailSlotCounts(*map(int, counts))
            for slot, *counts in self._connection.execute(query)
        }
