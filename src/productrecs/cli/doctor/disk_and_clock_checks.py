"""Disk and clock checks: what the data take, how long the disk lasts, and the clock."""

import shutil
from collections.abc import Iterator
from typing import Final

from productrecs.cli.doctor.check_result import CheckResult, notice, ok, problem
from productrecs.cli.doctor.repository import newest_job_created_at
from productrecs.core.clock import MINUTE_MS, SECOND_MS, system_ms
from productrecs.core.ids import INSTALLATION
from productrecs.core.timestamps import iso
from productrecs.services import Services, measure_data
from productrecs.storage.sql.server_clock import NOTABLE_MS
from productrecs.storage.sql.storage_usage import (
    DataKind,
    StoredDataSize,
    growth_per_day,
    installation_bytes_by_day,
    oldest_event_ms,
    to_readable_unit,
)

MIN_DISK_DAYS: Final = 14
MAX_CLOCK_SKEW_MS: Final = 5 * MINUTE_MS
EARLIEST_MS: Final = 1_793_491_200_000  # 2026-11-01: a correct clock is later
SET_CLOCK: Final = "set the machine's clock and synchronise it (timedatectl set-ntp true)"
_MANY_ROWS: Final = 1_000
_MANY_OLD_BYTES: Final = 100_000_000
_OF_FOLDER: Final = (DataKind.MODELS,)


def check_data_sizes_and_disk(services: Services) -> Iterator[CheckResult]:
    """Yield what each kind of data takes, and whether the disk lasts for two weeks."""
    sizes = list(measure_data(services)[INSTALLATION].values())
    with services.database.reading() as connection:
        totals = installation_bytes_by_day(connection, list(DataKind))
        totals_on_disk = totals
        if services.settings.database_url is not None:  # on another disk
            totals_on_disk = installation_bytes_by_day(connection, _OF_FOLDER)
    growth = growth_per_day(totals)
    parts = ", ".join(
        _describe_part_size(size)
        for size in sorted(sizes, key=lambda size: -size.bytes)
        if size.bytes
    )
    message = f"{_format_size(sum(size.bytes for size in sizes))}: {parts}"
    if growth is not None and growth > 0:
        message += f"; {_format_size(growth)} more each day"
    yield ok("data", message)
    yield from _check_retention(services, sizes)
    yield from _check_days_until_disk_full(services, growth_per_day(totals_on_disk))


def _describe_part_size(size: StoredDataSize) -> str:
    text = f"{size.part} {_format_size(size.bytes)}"
    if not size.rows:
        return text
    if size.rows < _MANY_ROWS:  # the pages of a few rows are mostly empty
        return f"{text} ({size.rows:,} rows)"
    return f"{text} ({size.rows:,} rows of {size.bytes // size.rows:,} bytes)"


def _check_retention(
    services: Services, sizes: list[StoredDataSize]
) -> Iterator[CheckResult]:
    """Yield what the events take, and what a retention of a year would remove."""
    log = [one for one in sizes if one.part in {DataKind.EVENTS, DataKind.IMPRESSIONS}]
    rows = sum(one.rows for one in log)
    with services.database.reading() as connection:
        first_ms = oldest_event_ms(connection)
    if not rows or first_ms is None:
        return
    size = _format_size(sum(one.bytes for one in log))
    message = (
        f"{rows:,} events and impressions take {size}; the first is of {iso(first_ms)[:10]}"
    )
    if days := services.settings.retention_days:
        purge = f"those of more than {days} days ago are purged each night"
        yield ok("retention", f"{message}; {purge}")
        return
    old_rows = sum(one.old_rows for one in log)
    old_bytes = sum(one.old_bytes for one in log)
    share = f"{100 * old_rows / rows:.0f} % of them, {_format_size(old_bytes)}"
    saving = f"PRODUCTRECS_RETENTION_DAYS=365 would purge {share}"
    if old_bytes < _MANY_OLD_BYTES:
        yield ok("retention", f"{message}; {saving}")
        return
    remedy = f"{saving}; reports keep their daily sums, and orders stay"
    yield notice("retention", f"{message}, and the installation purges none", remedy)


def _check_days_until_disk_full(
    services: Services, daily_growth: float | None
) -> Iterator[CheckResult]:
    if daily_growth is None or daily_growth <= 0:
        return
    days = int(shutil.disk_usage(services.settings.data).free / daily_growth)
    if days < MIN_DISK_DAYS:
        when = f"in {days} days" if days > 1 else "within two days"
        message = f"it fills by {_format_size(daily_growth)} a day, and is full {when}"
        remedy = (
            "free some space, move the data folder to a larger disk, or purge old events "
            "(PRODUCTRECS_RETENTION_DAYS)"
        )
        yield problem("disk", message, remedy)


def _format_size(value: float) -> str:
    number, unit = to_readable_unit(value)
    return f"{number:,.1f} {unit}"


def check_clock(services: Services) -> Iterator[CheckResult]:
    """Yield whether the machine's clock is plausible."""
    now_ms = system_ms()
    with services.database.reading() as connection:
        newest_ms = newest_job_created_at(connection)
    if now_ms < EARLIEST_MS:
        message = f"the clock says {iso(now_ms)}, which is before this program was released"
        yield problem("clock", message, SET_CLOCK)
    elif newest_ms is not None and newest_ms > now_ms + MAX_CLOCK_SKEW_MS:
        message = f"the clock says {iso(now_ms)}, but jobs were created at {iso(newest_ms)}"
        yield problem("clock", message, SET_CLOCK)
    elif abs(ahead_ms := -services.server_clock.offset_ms) > NOTABLE_MS:
        message = f"the clock is {ahead_ms / SECOND_MS:+.1f} s from the database server's"
        make_result = problem if abs(ahead_ms) > MAX_CLOCK_SKEW_MS else notice
        yield make_result("clock", f"{message}, whose time the service uses", SET_CLOCK)
    else:
        yield ok("clock", f"the clock says {iso(now_ms)}")
