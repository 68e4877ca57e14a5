"""How does a merchant make looks? Checked, and whole or not at all."""

from collections.abc import Sequence
from dataclasses import replace

from productrecs.core.clock import Clock
from productrecs.features.looks.look import (
    MOST_LOOKS,
    Look,
    LookContent,
    LookError,
    State,
    UnknownLookError,
    checked,
)
from productrecs.features.looks.repository import LookRepository
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.store import Store


class Looks:
    """One store's looks: to make, edit, publish, take back, put away and remove."""

    def __init__(self, database: Database, store: Store, clock: Clock) -> None:
        """Work on `store` in `database`."""
        self._database = database
        self._store_id = store.store_id
        self._clock = clock

    def all(self) -> list[Look]:
        """Return every look, the oldest first."""
        with self._database.reading() as connection:
            return LookRepository(connection, self._store_id).all()

    def add(self, contents: Sequence[LookContent], *, publish: bool = False) -> list[Look]:
        """Keep new looks, as drafts or published at once; all or none.

        Raises:
            LookError: when one says something impossible, or there are too many.
            StoreGoneError: when the store was deleted.
        """
        kept, now_ms = [checked(one) for one in contents], self._clock()
        state = State.PUBLISHED if publish else State.DRAFT
        added: list[Look] = []
        with self._database.transaction() as transaction:
            repository = LookRepository(transaction, self._store_id)
            for content in kept:
                number = repository.next_id()
                look = Look(number, content, state, now_ms if publish else None, now_ms)
                repository.add(look)
                added.append(look)
            if repository.count() > MOST_LOOKS:
                message = f"a store may have {MOST_LOOKS:,} looks; remove some first"
                raise LookError(message)
        return added

    def edit(self, look_id: int, content: LookContent) -> Look:
        """Keep what a look says now; whether it is published stays.

        Raises:
            LookError: when it says something impossible.
            UnknownLookError: when there is none of this id.
        """
        return self._changed(look_id, content=checked(content))

    def publish(self, look_id: int) -> Look:
        """Show a look from now on; it is the newest of its product.

        Raises:
            UnknownLookError: when there is none of this id.
        """
        return self._changed(look_id, State.PUBLISHED)

    def unpublish(self, look_id: int) -> Look:
        """Show a look no more; it is a draft again.

        Raises:
            UnknownLookError: when there is none of this id.
        """
        return self._changed(look_id, State.DRAFT)

    def archive(self, look_id: int) -> Look:
        """Put a look away.

        Raises:
            UnknownLookError: when there is none of this id.
        """
        return self._changed(look_id, State.ARCHIVED)

    def remove(self, look_id: int) -> None:
        """Forget a look.

        Raises:
            UnknownLookError: when there is none of this id.
        """
        with self._database.transaction() as transaction:
            repository = LookRepository(transaction, self._store_id)
            repository.next_id()
            if not repository.remove(look_id):
                raise _unknown(look_id)

    def _changed(
        self, look_id: int, state: State | None = None, content: LookContent | None = None
    ) -> Look:
        now_ms = self._clock()
        with self._database.transaction() as transaction:
            repository = LookRepository(transaction, self._store_id)
            repository.next_id()
            known = repository.find(look_id)
            if known is None:
                raise _unknown(look_id)
            changed = replace(
                known,
                content=content or known.content,
                state=state or known.state,
                published_at=(now_ms if state is State.PUBLISHED else known.published_at),
                updated_at=now_ms,
            )
            repository.change(changed)
        return changed


def _unknown(look_id: int) -> UnknownLookError:
    return UnknownLookError(f"there is no look {look_id}; `looks list` shows all")
