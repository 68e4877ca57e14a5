"""A service that thinks itself behind at all times: what the test of overload must see."""

from productrecs.entrypoints.http.pressure import Pressure


def _behind(self: Pressure, _now: float, _late: float) -> None:
    self.is_behind = True


Pressure.note = _behind  # type: ignore[method-assign]  # the fault itself
Pressure.lets_go = lambda *_: True  # type: ignore[method-assign]  # the fault itself
