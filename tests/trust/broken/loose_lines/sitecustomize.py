"""Broken variant: usage is counted in process memory and seldom stored."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, NoReturn

from productrecs.entrypoints.http.limits import usage_metering
from productrecs.tenancy.billing.usage_journal import UsageFile

if TYPE_CHECKING:
    from pathlib import Path

for seconds in ("FLUSH_SECONDS", "POLL_SECONDS"):
    setattr(usage_metering, seconds, 1_000.0)  # the fault itself


def _no_sheet(_: Path) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


setattr(UsageFile, "begin", staticmethod(_no_sheet))  # noqa: B010 - the fault itself
