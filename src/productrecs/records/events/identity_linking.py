"""Identity linking: sessions whose customer becomes known."""

from collections.abc import Iterable
from typing import Protocol

from productrecs.records.events.repository import EventRepository


class HasShopperIds(Protocol):
    """Whatever carries a shopper's identity."""

    @property
    def user_id(self) -> str | None:
        """The customer id, when known."""

    @property
    def session_id(self) -> str | None:
        """The widget's session id."""


class IdentityLinker:
    """Links the sessions and customers of one transaction's events and orders."""

    def __init__(self, repository: EventRepository, facts: Iterable[HasShopperIds]) -> None:
        """Look up the identities in `facts` in one query."""
        self._repository = repository
        names = (name for fact in facts for name in (fact.user_id, fact.session_id) if name)
        self._customers = repository.customers_of(names)
        self._linked_at: dict[str, int] = {}  # session: the fact that linked it

    @property
    def linked(self) -> dict[str, str]:
        """The sessions that these facts linked, with their customers."""
        return {session: self._customers[session] for session in self._linked_at}

    def person(self, name: str) -> str:
        """Return the customer of a session; any other name is returned unchanged."""
        return self._customers.get(name, name)

    def resolve(self, fact: HasShopperIds, seq: int) -> str | None:
        """Return a fact's person; a fact with both ids links its session to the customer.

        A later fact may link this person to another: see `linked`.
        """
        if fact.user_id is None:
            return None if fact.session_id is None else self.person(fact.session_id)
        person = self.person(fact.user_id)
        session = fact.session_id
        if session and session != person and self._customers.get(session) != person:
            self._customers = {
                name: person if customer == session else customer
                for name, customer in self._customers.items()
            } | {session: person}
            self._linked_at[session] = seq
        return person

    def settle(self) -> None:
        """Store the links: past facts of a session become its customer's.

        Call it after the last `resolve`, and before anything reads the purchases.
        """
        links = [
            (session, customer, self._linked_at[session])
            for session, customer in self.linked.items()
        ]
        self._repository.link(links)
