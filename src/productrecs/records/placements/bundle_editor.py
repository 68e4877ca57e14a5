"""Bundle editor: lists and changes a store's bundles, and what its merchant rejected."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from productrecs.core.clock import Clock
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.placements.bundle import (
    MAX_BUNDLES,
    Bundle,
    BundleChangedError,
    BundleContent,
    BundleError,
    BundleState,
    UnknownBundleError,
    bundle_price,
    check_discount_against,
    validate_bundle,
)
from productrecs.records.placements.repository import BundleRepository
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store

_DISCOUNTS: Final = ("discount_percent", "discount_amount")


@dataclass(frozen=True, slots=True)
class BundleWriter:
    """Changes one store's bundles inside a transaction."""

    bundles: BundleRepository
    catalog: CatalogRepository
    now_ms: int

    def add(self, content: BundleContent) -> Bundle:
        """Store a new bundle, or a rejected set, and return it.

        A set that was rejected before is accepted under its number.

        Raises:
            BundleError: when it is invalid, is stored already, or there are too many.
            StoreDeletedError: when the store was deleted.
        """
        clean, version = validate_bundle(content), self.bundles.lock_and_next_version()
        stored = self.bundles.all()
        rejected = [
            bundle
            for bundle in stored
            if bundle.content.state is BundleState.REJECTED
            and set(bundle.content.items) == set(clean.items)
        ]
        if rejected and clean.state is BundleState.ACCEPTED:
            return self._replace(stored, rejected[0], clean, version)
        _check_not_stored(stored, clean.items)
        if len(stored) >= MAX_BUNDLES:
            message = (
                f"a store may have {MAX_BUNDLES} bundles, rejected ones included; remove "
                "some"
            )
            raise BundleError(message, "items")
        self._check_parts_and_discount(clean)
        bundle = Bundle(version, clean, version, self.now_ms, self.now_ms)
        self.bundles.put(bundle, is_new=True)
        return bundle

    def change(
        self, bundle_id: int, version: int | None, changes: dict[str, Any]
    ) -> Bundle:
        """Return the bundle with some fields of its content replaced.

        A discount of one kind takes the place of the other.

        Raises:
            UnknownBundleError: when there is none of that number.
            BundleChangedError: when `version` is given and is no longer the bundle's.
            BundleError: when the content is invalid; nothing is changed.
            StoreDeletedError: when the store was deleted.
        """
        next_version = self.bundles.lock_and_next_version()  # edits wait here
        stored = self.bundles.all()
        old = _find_bundle(stored, bundle_id)
        if version is not None and version != old.version:
            message = (
                f"bundle {bundle_id} was changed since you read it; read it again and "
                "repeat your change"
            )
            raise BundleChangedError(message)
        for given, other in (_DISCOUNTS, _DISCOUNTS[::-1]):
            if changes.get(given) is not None and other not in changes:
                changes = changes | {other: None}
        clean = validate_bundle(replace(old.content, **changes))
        return self._replace(stored, old, clean, next_version)

    def remove(self, bundle_id: int) -> Bundle:
        """Remove a bundle and return it; its set may be proposed again.

        Raises:
            UnknownBundleError: when there is none of that number.
            StoreDeletedError: when the store was deleted.
        """
        self.bundles.lock_and_next_version()
        bundle = _find_bundle(self.bundles.all(), bundle_id)
        self.bundles.remove(bundle_id)
        return bundle

    def _replace(
        self, stored: list[Bundle], old: Bundle, content: BundleContent, version: int
    ) -> Bundle:
        _check_not_stored([bundle for bundle in stored if bundle is not old], content.items)
        self._check_parts_and_discount(content)
        bundle = replace(old, content=content, version=version, updated_at=self.now_ms)
        self.bundles.put(bundle, is_new=False)
        return bundle

    def _check_parts_and_discount(self, content: BundleContent) -> None:
        """Check the parts of an accepted bundle against the catalog."""
        if content.state is BundleState.REJECTED:
            return
        stored = self.catalog.find(content.items)
        unknown = [
            item_id
            for item_id in content.items
            if item_id not in stored or not stored[item_id].present
        ]
        if unknown:
            named = ", ".join(repr(item_id[:64]) for item_id in unknown)
            message = f"the catalog has no product {named}; push it first, or name another"
            raise BundleError(message, "items")
        prices = [stored[item_id].item.price for item_id in content.items]
        check_discount_against(bundle_price(prices, content).total, content)


@dataclass(frozen=True, slots=True)
class BundleEditor:
    """Reads and changes one store's bundles; raises what `BundleWriter` raises.

    A change is one transaction, and every process follows it within a second.
    """

    database: Database
    store: Store
    clock: Clock

    def all(self) -> list[Bundle]:
        """Return every accepted and rejected bundle, the oldest first."""
        with self.database.reading() as connection:
            return BundleRepository(connection, self.store.store_id).all()

    def find(self, bundle_id: int) -> Bundle:
        """Return a bundle.

        Raises:
            UnknownBundleError: when there is none of that number.
        """
        return _find_bundle(self.all(), bundle_id)

    def add(self, content: BundleContent) -> Bundle:
        """Store a new bundle, or a rejected set, and return it."""
        with self._open_writer() as writer:
            return writer.add(content)

    def change(self, bundle_id: int, version: int | None = None, **changes: Any) -> Bundle:
        """Return the bundle with some fields of its content replaced."""
        with self._open_writer() as writer:
            return writer.change(bundle_id, version, changes)

    def remove(self, bundle_id: int) -> Bundle:
        """Remove a bundle and return it."""
        with self._open_writer() as writer:
            return writer.remove(bundle_id)

    @contextmanager
    def _open_writer(self) -> Iterator[BundleWriter]:
        with self.database.transaction() as transaction:
            bundles = BundleRepository(transaction, self.store.store_id)
            catalog = CatalogRepository(transaction, self.store.store_id)
            yield BundleWriter(bundles, catalog, self.clock())


def _find_bundle(stored: list[Bundle], bundle_id: int) -> Bundle:
    for bundle in stored:
        if bundle.bundle_id == bundle_id:
            return bundle
    message = f"there is no bundle {bundle_id}; the list of bundles names those there are"
    raise UnknownBundleError(message)


def _check_not_stored(stored: list[Bundle], items: tuple[str, ...]) -> None:
    for bundle in stored:
        if set(bundle.content.items) == set(items):
            message = (
                f"bundle {bundle.bundle_id} has these products already, and is "
                f"{bundle.content.state}; change that one"
            )
            raise BundleError(message, "items")
