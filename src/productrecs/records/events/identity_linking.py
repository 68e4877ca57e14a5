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
        """Look up, at once, everybody that `facts` name."""
        self._repository = repository
        names = (name for fact in facts for name in (fact.user_id, fact.session_id) if name)
        self._customers = repository.customers_of(names)
        self._told_at: dict[str, int] = {}  # session that found its customer: by which fact

    @property
    def linked(self) -> dict[str, str]:
        """The sessions that found their customer among these facts, and whom."""
        return {session: self._customers[session] for session in self._told_at}

    def person(self, name: str) -> str:
        """Return whom `name` is known as: the customer of a session, else itself."""
        return self._customers.get(name, name)

    def meet(self, fact: HasShopperIds, seq: int) -> str | None:
        """Return a fact's person; where it names both ids, its session is theirs now.

        Who is met later may turn this person into another: see `linked`.
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
            self._told_at[session] = seq
        return person

    def settle(self) -> None:
        """Store who was met: past facts of a session become its customer's.

        Call it once all have been met, and before anything reads what they bought.
        """
        links = [
            (session, customer, self._told_at[session])
            for session, customer in self.linked.items()
        ]
        self._repository.link(links)
