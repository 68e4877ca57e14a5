"""Tests: folders mirror `src/productrecs`, plus contracts, api, trust, architecture.

Outdated kernels are compiled here, before a test imports an engine that needs them.
"""

import os

from tools import kernels

if "PYTEST_XDIST_WORKER" not in os.environ and not kernels.is_current():
    kernels.compile_kernels()
