"""A service that thinks itself behind at all times: what the test of overload must see."""

from productrecs.entrypoints.http.pressure import Pressure


def _behind(self: Pressure, now: float, late: float) -> None:  # noqa: ARG001 - as late as it may be
    self.is_behind = True


Pressure.note = _behind  # type: ignore[method-assign]  # the fault itself
Pressure.lets_go = lambda *_: True  # type: ignore[method-assign]  # the fault itself
