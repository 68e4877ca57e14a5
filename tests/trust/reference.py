"""Reference model: what should be stored, in dicts and lists.

Written from the interface and the silent points, without a look at the repositories: the
state machine does everything twice, here and in the service, and compares.
"""

from dataclasses import dataclass, field, replace
from typing import Final

DAY_MS: Final = 86_400_000
WEEK_MS: Final = 7 * DAY_MS
EVENT, ORDER, CSV = range(3)  # which way a line came: the higher stands


@dataclass(frozen=True)
class Fact:
    """An event of the log."""

    kind: str
    item: str
    person: str
    session: str | None
    ts: int


@dataclass(frozen=True)
class Line:
    """A line bought that stands."""

    order: str
    receipt: int
    item: str
    channel: int
    quantity: int | None
    person: str | None
    session: str | None


@dataclass
class Reference:
    """One store; every method does what the call of its name should do."""

    items: dict[str, float | None] = field(default_factory=dict)  # id -> price
    log: list[Fact] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)  # session -> customer
    event_ids: dict[str, int] = field(default_factory=dict)
    receipts: dict[str, tuple[int, int]] = field(default_factory=dict)
    erased: dict[str, int] = field(default_factory=dict)

    def push(self, item: str, price: float | None) -> tuple[int, int]:
        """Return (created, size); a price of None is not carried."""
        is_new = item not in self.items
        self.items[item] = price if price is not None else self.items.get(item)
        return int(is_new), len(self.items)

    def delete(self, item: str) -> bool:
        """Return whether it was there."""
        return self.items.pop(item, self) is not self

    def event(
        self,
        kind: str,
        item: str,
        user: str | None,
        session: str | None,
        now: int,
        event_id: str | None = None,
        order: str | None = None,
    ) -> None:
        """Receive one event."""
        if event_id is not None:
            if now - self.event_ids.get(event_id, -WEEK_MS * 9) < WEEK_MS:
                return
            self.event_ids[event_id] = now
        if self._is_erased(user or session, now):
            return
        session = None if self._is_erased(session, now) else session
        person = self._meet(user, session)
        if kind != "buy":
            self.log.append(Fact(kind, item, person or "", session, now))
            return
        receipt = self.receipts[order][0] if order in self.receipts else 0
        line = Line(order or "", receipt, item, EVENT, None, person, session)
        self._put(line) if order else self.lines.append(line)

    def order(
        self,
        order: str,
        wanted: list[tuple[str, int | None]],
        user: str | None,
        session: str | None,
        now: int,
    ) -> bool:
        """Return whether it is a duplicate."""
        receipt, at = self.receipts.get(order, (-1, -WEEK_MS * 9))
        if now - at < WEEK_MS:
            return True
        self.receipts[order] = (receipt + 1, now)
        ts = None if receipt >= 0 else now
        if self._is_erased(user or session, ts):
            user = session = None
        elif self._is_erased(session, ts):
            session = None
        person = self._meet(user, session, is_proven=True)  # with the secret key
        fresh: list[Line] = []
        for item, quantity in wanted:
            place = (order, receipt + 1, item)
            if not any(
                _place(line) == place and line.channel > ORDER for line in self.lines
            ):
                fresh.append(Line(*place, ORDER, quantity, person, session))
        replaced = {_place(line) for line in fresh}
        self.lines = [
            line
            for line in self.lines
            if not (_place(line) in replaced and line.channel == EVENT)
        ] + fresh
        return False

    def history(
        self,
        order: str,
        item: str,
        customer: str | None,
        quantity: int | None,
        ts: int | None,
    ) -> None:
        """Import a row of past orders."""
        if self._is_erased(customer, ts):
            customer = None
        person = customer  # whatever anybody says whose session that is
        place = (order, 0, item)
        standing = [line for line in self.lines if _place(line) == place]
        self.lines = [line for line in self.lines if _place(line) != place]
        if not standing:
            self.lines.append(Line(*place, CSV, quantity, person, None))
            return
        known = [line.quantity for line in standing if line.quantity is not None]
        units = sum(line.quantity or 1 for line in standing) if known else None
        self.lines.append(
            replace(
                standing[0],
                channel=CSV,
                quantity=units if quantity is None else quantity,
                person=person or standing[0].person,
            )
        )

    def erase(self, name: str, now: int) -> None:
        """Forget a shopper by any of their names."""
        customer = self.links.get(name, name)
        names = {name, customer} | {s for s, c in self.links.items() if c == customer}
        self.erased |= dict.fromkeys(names, now)
        self.log = [
            replace(fact, session=None if fact.session in names else fact.session)
            for fact in self.log
            if fact.person not in names
        ]
        self.lines = [
            replace(line, person=None, session=None)
            if line.person in names
            else replace(line, session=None if line.session in names else line.session)
            for line in self.lines
        ]
        self.links = {s: c for s, c in self.links.items() if not {s, c} & names}

    def bought(self, name: str) -> list[str]:
        """Return what a shopper bought, sorted."""
        person = self.links.get(name, name)
        return sorted(line.item for line in self.lines if line.person == person)

    def _put(self, line: Line) -> None:
        same = [other for other in self.lines if _place(other) == _place(line)]
        if any(other.channel > line.channel for other in same):
            return
        self.lines = [other for other in self.lines if other not in same] + [line]

    def _is_erased(self, name: str | None, ts: int | None) -> bool:
        at = self.erased.get(name or "")
        return at is not None and (ts is None or ts < at + WEEK_MS)

    def _meet(
        self, user: str | None, session: str | None, *, is_proven: bool = False
    ) -> str | None:
        if user is None:
            return None if session is None else self.links.get(session, session)
        if is_proven and user in self.links:
            self.links[user] = user
        person = self.links.get(user, user)
        is_new = session and session != person and self.links.get(session) != person
        if session and is_new and not self._is_customer(session):
            self.links[session] = person
            self.log = [
                replace(fact, person=person) if fact.person == session else fact
                for fact in self.log
            ]
            self.lines = [
                replace(line, person=person) if line.person == session else line
                for line in self.lines
            ]
        return person

    def _is_customer(self, name: str) -> bool:
        """Return whether a name came beside another session, or on an order without one."""
        return (
            name in self.links.values()
            or any(f.person == name and f.session not in {None, name} for f in self.log)
            or any(x.person == name and x.session != name for x in self.lines)
        )


def _place(line: Line) -> tuple[str, int, str]:
    return (line.order, line.receipt, line.item)
