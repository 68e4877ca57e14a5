"""Plural: a number with its noun."""


def counted(number: int, noun: str) -> str:
    """Return a number with thousands separators and its noun, such as `1,024 rows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
