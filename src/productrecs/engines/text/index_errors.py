"""Index errors: translates the search library's exceptions and panics into one error."""

import contextlib
from collections.abc import Iterator

from productrecs.core.errors import ProductRecsError


class BrokenIndexError(ProductRecsError):
    """An index's files are missing, damaged or of another format; rebuild the index."""


@contextlib.contextmanager
def translate_index_errors(what: str) -> Iterator[None]:
    """Turn what the library raises in the block into one error.

    Raises:
        BrokenIndexError: when the library refused, or panicked over what it read.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        message = f"{what}: {error}"
        raise BrokenIndexError(message) from error
    except BaseException as error:
        # A panic in the library is a BaseException: it is not caught by accident.
        if type(error).__name__ != "PanicException":
            raise
        message = f"{what}: the library gave up ({error})"
        raise BrokenIndexError(message) from error
