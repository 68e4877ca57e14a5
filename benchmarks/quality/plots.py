"""A forecast as a picture, to be looked at: what came, what was expected, and the band."""

from __future__ import annotations

import struct
import zlib
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from pathlib import Path

    from productrecs.engines.array_types_and_sorting import Floats

    Picture = npt.NDArray[np.uint8]

WIDTH, HEIGHT = 900, 260
_MARGIN: Final = 12
_BAND, _ACTUAL, _MEAN, _GRID = (198, 219, 239), (60, 60, 60), (214, 39, 40), (225, 225, 225)


def plot(path: Path, past: Floats, actual: Floats, mean: Floats, bands: Floats) -> None:
    """Write a PNG: `past` and `actual` dark, `mean` red, p50 blue, p10 to p90 light.

    `bands` [3, days] are the quantiles of the days of `actual` and `mean` [days].
    """
    picture = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    days = len(past) + len(mean)
    top = max(float(np.quantile(np.concatenate((past, actual)), 0.995)), bands.max(), 1.0)

    def x(day: float) -> int:
        return round(_MARGIN + day * (WIDTH - 2 * _MARGIN) / max(days - 1, 1))

    def y(amount: float) -> int:
        share = min(max(amount / top, 0.0), 1.0)
        return round(HEIGHT - _MARGIN - share * (HEIGHT - 2 * _MARGIN))

    for week in range(0, days, 7):
        picture[:, x(week)] = _GRID
    for place in range(len(mean)):
        day = len(past) + place
        left, right = x(day - 0.5), x(day + 0.5) + 1
        picture[y(bands[2][place]) : y(bands[0][place]) + 1, left:right] = _BAND
    _line(
        picture, [(x(n), y(one)) for n, one in enumerate(np.append(past, actual))], _ACTUAL
    )
    ahead = range(len(past), days)
    for values, colour in ((bands[1], (31, 119, 180)), (mean, _MEAN)):
        points = [(x(n), y(one)) for n, one in zip(ahead, values, strict=True)]
        _line(picture, points, colour)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_png(picture))


def _line(
    picture: Picture, points: list[tuple[int, int]], colour: tuple[int, int, int]
) -> None:
    for (x0, y0), (x1, y1) in pairwise(points):
        steps = max(abs(x1 - x0), abs(y1 - y0), 1)
        across = np.round(np.linspace(x0, x1, steps + 1)).astype(int)
        down = np.round(np.linspace(y0, y1, steps + 1)).astype(int)
        picture[down, across] = colour
        picture[np.minimum(down + 1, HEIGHT - 1), across] = colour


def _png(picture: Picture) -> bytes:
    rows = b"".join(b"\0" + row.tobytes() for row in picture)
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data))
        + kind
        + data
        + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
