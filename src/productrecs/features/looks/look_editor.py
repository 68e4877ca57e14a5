"""Look editor: validates and stores a merchant's changes to looks, whole or not at all."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from productrecs.core.clock import DAY_MS, Clock
from productrecs.features.looks.look import (
    MAX_LOOKS,
    MAX_VERSIONS,
    Hotspot,
    InvalidLookError,
    Look,
    LookContent,
    LookState,
    LookVersion,
    SanitizedPicture,
    UnknownLookError,
    sanitize_picture,
    validate_look,
)
from productrecs.features.looks.repository import LookRepository
from productrecs.records.pictures.decode_picture import MAX_BYTES, PictureTooLargeError
from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store


class LookEditor:
    """One store's looks: creates, edits, publishes, unpublishes, archives and deletes."""

    def __init__(
        self, database: Database, store: Store, clock: Clock, by: str = ""
    ) -> None:
        """Work on `store` in `database`; `by` is the e-mail of the editing user."""
        self._by = by
        self._database = database
        self._store_id = store.store_id
        self._clock = clock

    def all(self) -> list[Look]:
        """Return every look, the oldest first."""
        with self._database.reading() as connection:
            return LookRepository(connection, self._store_id).all()

    def add(self, contents: Sequence[LookContent], *, publish: bool = False) -> list[Look]:
        """Store new looks, as drafts or published at once; all or none.

        Raises:
            InvalidLookError: when one is invalid, or there are too many.
            StoreDeletedError: when the store was deleted.
        """
        checked, now_ms = list(map(validate_look, contents)), self._clock()
        state = LookState.PUBLISHED if publish else LookState.DRAFT
        added: list[Look] = []
        with self._database.transaction() as transaction:
            repository = LookRepository(transaction, self._store_id)
            for content in checked:
                number = repository.lock_and_next_id()
                _check_picture_is_stored(repository, content)
                published_at = now_ms if publish else None
                look = Look(number, content, state, published_at, now_ms, self._by)
                repository.add(look)
                added.append(look)
            if repository.count() > MAX_LOOKS:
                message = f"a store may have at most {MAX_LOOKS:,} looks; remove some first"
                raise InvalidLookError(message)
        return added

    def store_picture_and_delete_unused(
        self, picture_bytes: bytes, decoder: SandboxedDecoder
    ) -> SanitizedPicture:
        """Store a merchant's picture for a look; unused pictures are deleted after a day.

        `LookContent.picture_id` refers to it.

        Raises:
            UnreadablePictureError: when `picture_bytes` is not a readable picture.
            PictureTooLargeError: when it has too many bytes or pixels.
            StoreDeletedError: when the store was deleted.
        """
        if len(picture_bytes) > MAX_BYTES:
            message = f"a picture may have at most {MAX_BYTES >> 20} MiB"
            raise PictureTooLargeError(message)
        picture, now_ms = sanitize_picture(picture_bytes, decoder), self._clock()
        with self._database.transaction() as transaction:
            repository = LookRepository(transaction, self._store_id)
            repository.lock_and_next_id()
            repository.delete_unused_picture_and_old("", now_ms - DAY_MS)
            repository.store_picture(picture, now_ms)
        return picture

    def picture(self, picture_id: str) -> bytes | None:
        """Return a stored picture, a JPEG."""
        with self._database.reading() as connection:
            return LookRepository(connection, self._store_id).picture(picture_id)

    def get(self, look_id: int) -> Look:
        """Return one look.

        Raises:
            UnknownLookError: when there is no look with this id.
        """
        with self._database.reading() as connection:
            look = LookRepository(connection, self._store_id).find(look_id)
        if look is None:
            raise _unknown_look_error(look_id)
        return look

    def edit(self, look_id: int, content: LookContent) -> Look:
        """Replace the content of a look; its state does not change.

        A content without a picture leaves the present one.

        Raises:
            InvalidLookError: when it is invalid.
            UnknownLookError: when there is no look with this id.
        """

        def replace_but_keep_picture(current: LookContent) -> LookContent:
            if content.image_url or content.picture_id:
                return validate_look(content)
            picture_id, url = current.picture_id, current.image_url
            return validate_look(replace(content, image_url=url, picture_id=picture_id))

        return self._apply_change_and_keep_version(look_id, change=replace_but_keep_picture)

    def add_hotspots(self, look_id: int, hotspots: Sequence[Hotspot]) -> Look:
        """Add hotspots to a look, such as accepted proposals.

        Raises:
            InvalidLookError: when one is invalid, or there are too many.
            UnknownLookError: when there is no look with this id.
        """
        return self._apply_change_and_keep_version(
            look_id,
            change=lambda content: validate_look(
                replace(content, hotspots=(*content.hotspots, *hotspots))
            ),
        )

    def set_picture(self, look_id: int, picture: SanitizedPicture) -> Look:
        """Set the picture of a look to a stored one; its hotspots do not change.

        Raises:
            InvalidLookError: when the picture is no longer stored.
            UnknownLookError: when there is no look with this id.
        """
        picture_id = picture.picture_id
        return self._apply_change_and_keep_version(
            look_id,
            change=lambda content: replace(content, image_url="", picture_id=picture_id),
        )

    def versions(self, look_id: int) -> list[LookVersion]:
        """Return the contents of a look before each change, newest first."""
        with self._database.reading() as connection:
            return LookRepository(connection, self._store_id).versions(look_id)

    def restore(self, look_id: int, version: int) -> Look:
        """Restore a look to an earlier version; its state does not change. Can be undone.

        Raises:
            UnknownLookError: when there is no such look, or no such version of it.
        """
        earlier = {stored.version: stored.content for stored in self.versions(look_id)}
        if version not in earlier:
            message = f"look {look_id} has no version {version}"
            raise UnknownLookError(message)
        return self._apply_change_and_keep_version(
            look_id, change=lambda _content: earlier[version]
        )

    def publish(self, look_id: int) -> Look:
        """Publish a look; it becomes the newest of its product.

        Raises:
            UnknownLookError: when there is no look with this id.
        """
        return self._apply_change_and_keep_version(look_id, LookState.PUBLISHED)

    def unpublish(self, look_id: int) -> Look:
        """Unpublish a look; it becomes a draft again.

        Raises:
            UnknownLookError: when there is no look with this id.
        """
        return self._apply_change_and_keep_version(look_id, LookState.DRAFT)

    def archive(self, look_id: int) -> Look:
        """Archive a look.

        Raises:
            UnknownLookError: when there is no look with this id.
        """
        return self._apply_change_and_keep_version(look_id, LookState.ARCHIVED)

    def remove(self, look_id: int) -> None:
        """Delete a look, and its picture unless another look uses it.

        Raises:
            UnknownLookError: when there is no look with this id.
        """
        with self._database.transaction() as transaction:
            repository = LookRepository(transaction, self._store_id)
            repository.lock_and_next_id()
            current = repository.find(look_id)
            if current is None:
                raise _unknown_look_error(look_id)
            repository.remove(look_id)
            repository.delete_unused_picture_and_old(
                current.content.picture_id, self._clock() - DAY_MS
            )

    def _apply_change_and_keep_version(
        self,
        look_id: int,
        state: LookState | None = None,
        change: Callable[[LookContent], LookContent] = lambda content: content,
    ) -> Look:
        now_ms = self._clock()
        with self._database.transaction() as transaction:
            repository = LookRepository(transaction, self._store_id)
            version = repository.lock_and_next_id()
            current = repository.find(look_id)
            if current is None:
                raise _unknown_look_error(look_id)
            changed = replace(
                current,
                content=change(current.content),
                state=state or current.state,
                published_at=(
                    now_ms if state is LookState.PUBLISHED else current.published_at
                ),
                updated_at=now_ms,
                updated_by=self._by,
            )
            if changed.content != current.content:
                repository.add_version_and_delete_oldest(current, version, MAX_VERSIONS)
            has_other_picture = changed.content.picture_id != current.content.picture_id
            if has_other_picture:
                _check_picture_is_stored(repository, changed.content)
            repository.change(changed)
            if has_other_picture:
                repository.delete_unused_picture_and_old(
                    current.content.picture_id, now_ms - DAY_MS
                )
        return changed


def _check_picture_is_stored(repository: LookRepository, content: LookContent) -> None:
    if content.picture_id and not repository.has_picture(content.picture_id):
        message = "the look's picture is no longer stored here; upload it again"
        raise InvalidLookError(message)


def _unknown_look_error(look_id: int) -> UnknownLookError:
    return UnknownLookError(f"there is no look {look_id}; `looks list` shows all")
