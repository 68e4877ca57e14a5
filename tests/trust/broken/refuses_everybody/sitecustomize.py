"""Broken variant: sheds load at all times."""

from productrecs.http.limits.load_shedding import LoadShedder


def _behind(self: LoadShedder, now: float, lag_seconds: float) -> None:  # noqa: ARG001 - as late as it may be
    self.is_overloaded = True


LoadShedder.record_probe = _behind  # type: ignore[method-assign]  # the fault itself
LoadShedder.count_and_decide_rejection = lambda *_: True  # type: ignore[method-assign]  # the fault itself
