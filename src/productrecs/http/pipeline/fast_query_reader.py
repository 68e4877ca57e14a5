"""Fast query reader: reads plain queries by the parameters a route declares for FastAPI.

FastAPI takes about 100 us to read the parameters of a list, so frequent requests are read
here. A declaration stands once: as the parameters of the function that both call.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import Enum
from functools import wraps
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    ParamSpec,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from fastapi.params import Query
from pydantic import BeforeValidator

from productrecs.schemas.validation_errors import InvalidInputError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Reader = Callable[[str], Any]  # raises KeyError for a text in another form

_SWITCHES: Final = {"true": True, "1": True, "false": False, "0": False}
_MAX_NUMBERS: Final = 1_000
_OF_ALL_ROUTES: Final = frozenset({"key", "assistant"})


def _false_if_blank(value: object) -> object:
    return False if value == "" else value


BLANK_IS_FALSE: Final = BeforeValidator(_false_if_blank)
"""Turns a switch off that is left empty, as templates leave parameters."""


def as_dependency(
    read: Callable[Parameters, Result],
) -> Callable[Parameters, Awaitable[Result]]:
    """Return `read` as a dependency that FastAPI calls on the event loop."""

    @wraps(read)
    async def dependency(*values: Parameters.args, **named: Parameters.kwargs) -> Result:
        return read(*values, **named)

    return dependency


class FastQueryReader(Generic[Result]):
    """Reads the queries whose every value is in the usual form."""

    def __init__(self, build_result: Callable[..., Result]) -> None:
        """Compile the parameters of `build_result`, which returns their meaning."""
        self._read = build_result
        self._defaults: dict[str, Any] = {}
        self._readers: dict[str, tuple[str, Reader]] = {}
        self._fastapi_only = frozenset[str]()  # parameters that only FastAPI reads
        hints = get_type_hints(build_result, include_extras=True)
        for name, parameter in inspect.signature(build_result).parameters.items():
            alias, reader = _alias_and_reader(name, hints[name])
            self._defaults[name] = parameter.default
            if reader is None:
                self._fastapi_only |= {alias}
            else:
                self._readers[alias] = (name, reader)

    @property
    def names(self) -> frozenset[str]:
        """The parameters that the route declares."""
        return self._fastapi_only | self._readers.keys()

    def unknown_names(self, sent: Iterable[str]) -> list[str]:
        """Return the parameters that no route has; `_...` only avoids caches."""
        known = self.names | _OF_ALL_ROUTES
        return [name for name in sent if name not in known and not name.startswith("_")]

    def read(self, query: Mapping[str, str]) -> Result | None:
        """Return what a query means; None leaves it, and its refusal, to FastAPI."""
        values = dict(self._defaults)
        for alias, text in query.items():
            known = self._readers.get(alias)
            if known is not None:
                name, reader = known
                try:
                    values[name] = reader(text)
                except KeyError:
                    return None
            elif alias not in _OF_ALL_ROUTES:
                return None
        try:
            return self._read(**values)
        except InvalidInputError:
            return None


def _alias_and_reader(name: str, hint: Any) -> tuple[str, Reader | None]:
    """Return a parameter's name in a query, and its reader if its form is plain."""
    kind, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    declared = next((extra for extra in extras if isinstance(extra, Query)), None)
    alias = name if declared is None else declared.alias or name
    limits = [] if declared is None else declared.metadata
    kinds = set(get_args(kind)) if get_origin(kind) is UnionType else {kind}
    return alias, _reader_of_type(
        kinds, [extra for extra in extras if extra is not declared], limits
    )


def _reader_of_type(
    types: set[Any], validators: list[Any], limits: list[Any]
) -> Reader | None:
    if types == {bool} and validators == [BLANK_IS_FALSE]:
        return (_SWITCHES | {"": False}).__getitem__
    if validators or len(types - {NoneType}) != 1:
        return None
    value_type = (types - {NoneType}).pop()
    texts: Mapping[str, Any] | None = None
    if types == {bool}:
        texts = _SWITCHES
    elif value_type is int:
        texts = _numbers_by_text(limits)
    elif isinstance(value_type, type) and issubclass(value_type, Enum):
        texts = {member.value: member for member in value_type}
    elif value_type is str and not limits:
        return str
    return None if texts is None else texts.__getitem__


def _numbers_by_text(limits: list[Any]) -> Mapping[str, int] | None:
    """Return every number within the limits by its text; None if they are open."""
    lowest = next((limit.ge for limit in limits if hasattr(limit, "ge")), None)
    highest = next((limit.le for limit in limits if hasattr(limit, "le")), None)
    if lowest is None or highest is None or highest - lowest > _MAX_NUMBERS:
        return None
    return {str(number): number for number in range(lowest, highest + 1)}
