"""A machine whose clock is `TEST_CLOCK_AHEAD` seconds ahead."""

import os
import time

_AHEAD_NS = int(float(os.environ.get("TEST_CLOCK_AHEAD", "0")) * 1e9)
_time_ns, _time = time.time_ns, time.time
time.time_ns = lambda: _time_ns() + _AHEAD_NS
time.time = lambda: _time() + _AHEAD_NS / 1e9
