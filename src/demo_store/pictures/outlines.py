"""Outlines: converts paths of lines and curves, ellipses and boxes to polygons."""

import math
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

Point: TypeAlias = tuple[float, float]

_STEPS: Final = 10  # of a curve: the error is below a pixel at the shop's sizes
_ROUND: Final = 40  # points around an oval
_NEEDS: Final = {"M": 2, "L": 2, "Q": 4}


def path_outline(words: Sequence[str]) -> list[Point]:
    """Return the points of a path of `M`, `L` (lines), `Q` (curves) and `Z`, absolute.

    Raises:
        ValueError: at another command, or when numbers are missing.
    """
    points: list[Point] = []
    for command, numbers in _parse_commands(words):
        if command == "Q":
            points += _curve_points(
                points[-1], (numbers[0], numbers[1]), (numbers[2], numbers[3])
            )
        else:
            points.append((numbers[0], numbers[1]))
    return points


def oval_outline(numbers: Sequence[float]) -> list[Point]:
    """Return the points of an ellipse: its centre, and half of its width and height."""
    x, y, across, down = numbers
    angles = (2 * math.pi * step / _ROUND for step in range(_ROUND))
    return [(x + across * math.cos(angle), y + down * math.sin(angle)) for angle in angles]


def box_outline(numbers: Sequence[float]) -> list[Point]:
    """Return the points of a rectangle: corner, width, height, and roundness if any."""
    x, y, width, height, *radii = numbers
    radius = min([*radii, 0.0][0], width / 2, height / 2)
    if not radius:
        return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
    corners = (
        (x + width - radius, y + radius, -90),
        (x + width - radius, y + height - radius, 0),
        (x + radius, y + height - radius, 90),
        (x + radius, y + radius, 180),
    )
    return [
        (
            across + radius * math.cos(math.radians(start + step * 15)),
            down + radius * math.sin(math.radians(start + step * 15)),
        )
        for across, down, start in corners
        for step in range(7)
    ]


def rotate(points: Sequence[Point], degrees: float, centre: Point) -> list[Point]:
    """Return the points rotated clockwise around a point."""
    if not degrees:
        return list(points)
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    x, y = centre
    return [
        (x + (px - x) * cos - (py - y) * sin, y + (px - x) * sin + (py - y) * cos)
        for px, py in points
    ]


def _parse_commands(words: Sequence[str]) -> Iterator[tuple[str, list[float]]]:
    index = 0
    while index < len(words):
        command = words[index]
        index += 1
        if command == "Z":
            continue
        if command not in _NEEDS:
            message = f"{command!r} is no step of a path; there are M, L, Q and Z"
            raise ValueError(message)
        yield command, [float(word) for word in words[index : index + _NEEDS[command]]]
        index += _NEEDS[command]


def _curve_points(start: Point, bend: Point, end: Point) -> list[Point]:
    points = []
    for step in range(1, _STEPS + 1):
        t = step / _STEPS
        a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t * t
        points.append(
            (
                a * start[0] + b * bend[0] + c * end[0],
                a * start[1] + b * bend[1] + c * end[1],
            )
        )
    return points
