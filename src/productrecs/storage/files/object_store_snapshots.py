"""Snapshots: models and indexes in the object store, each replaced as a whole.

A snapshot is a set of files. Each large file is one object, named by the SHA-256 of its
content; the small files are packed into one object. A manifest names them. It is written
after its objects, and the pointer in the database moves after the manifest, so a reader
never sees half a snapshot. Every file is verified when it is read.
"""

import hashlib
import json
import logging
import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, TypeAlias

from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId
from productrecs.storage.files.object_store import (
    MissingObjectError,
    ObjectStore,
    ObjectSummary,
    write_atomically,
)

_log = logging.getLogger(__name__)

FORMAT: Final = 1
MODELS, PICTURES, SEARCH = "models", "pictures", "search"
KINDS: Final = (MODELS, PICTURES, SEARCH)
"""The kinds of snapshot of a store."""

GRACE_SECONDS: Final = 1_800.0
"""Age below which nothing is purged: an upload or a download may still need it."""

_PACKED_BELOW: Final = 256 << 10
_OBJECTS: Final = "objects"
_STORES: Final = "stores"
_REMEMBERED: Final = 256  # manifests of the last publications

Content: TypeAlias = bytes | Path
FileState: TypeAlias = tuple[int, int, int]  # inode, time of change, size


class InvalidObjectError(ProductRecsError):
    """An object is damaged, of another format, or of another snapshot."""


class SnapshotName(NamedTuple):
    """The name of a snapshot: one version of one kind of one store."""

    store_id: StoreId
    kind: str
    name: str

    @property
    def key(self) -> str:
        """The key of its manifest."""
        return f"{_STORES}/{self.store_id}/{self.kind}/{self.name}"


class PackedFileLocation(NamedTuple):
    """Where the content of one file is: in an object, from an offset on."""

    sha256: str
    size: int
    object_name: str
    offset: int


@dataclass(frozen=True, slots=True)
class SnapshotManifest:
    """A manifest: the files of a snapshot by their path, and facts about it."""

    store_id: str
    kind: str
    files: Mapping[str, PackedFileLocation]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def objects(self) -> set[str]:
        """The names of the objects that it needs."""
        return {packed_file.object_name for packed_file in self.files.values()}

    def to_bytes(self) -> bytes:
        """Return the manifest: a line with the checksum of the rest, which is JSON."""
        fields = {
            "format": FORMAT,
            "store_id": self.store_id,
            "kind": self.kind,
            "files": {
                name: list(packed_file) for name, packed_file in sorted(self.files.items())
            },
            "facts": dict(self.facts),
        }
        body = json.dumps(fields, sort_keys=True).encode()
        return hashlib.sha256(body).hexdigest().encode() + b"\n" + body

    @classmethod
    def from_bytes(cls, content: bytes, name: SnapshotName) -> Self:
        """Return a manifest that was stored under `name`.

        Raises:
            InvalidObjectError: when it is damaged, another store's or of another format.
        """
        checksum, _, body = content.partition(b"\n")
        try:
            if hashlib.sha256(body).hexdigest().encode() != checksum:
                message = f"the manifest {name.key} does not match its checksum"
                raise InvalidObjectError(message)
            fields = json.loads(body)
            owner = (fields["format"], fields["store_id"], fields["kind"])
            if owner != (FORMAT, name.store_id, name.kind):
                message = f"the manifest {name.key} is of {owner}"
                raise InvalidObjectError(message)
            files = {
                path: PackedFileLocation(*packed_file)
                for path, packed_file in fields["files"].items()
            }
            return cls(fields["store_id"], fields["kind"], files, fields["facts"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"the manifest {name.key} cannot be read: {error}"
            raise InvalidObjectError(message) from error


class SnapshotStore:
    """The snapshots of one installation in its object store."""

    def __init__(self, objects: ObjectStore) -> None:
        """Store them in `objects`."""
        self.objects = objects
        self._published: dict[tuple[str, str], tuple[str, SnapshotManifest]] = {}

    def publish(
        self,
        name: SnapshotName,
        files: Mapping[str, Content],
        facts: Mapping[str, object] | None = None,
        *,
        serving: str | None = None,
        known_digests: dict[tuple[str, FileState], str] | None = None,
    ) -> tuple[SnapshotName, SnapshotManifest]:
        """Upload a snapshot, its manifest last; return its name and the manifest.

        A snapshot without a name is named by the SHA-256 of its manifest. Objects of the
        snapshot `serving`, if this process published it, are not uploaded again: they are
        not purged while it serves. `known_digests` caches checksums of large files.

        Raises:
            ObjectStoreUnavailableError: when an upload fails; nothing points to the rest.
            FileNotFoundError: when a file is gone, such as a merged segment.
        """
        published = self._published.get(name[:2])
        is_serving = published is not None and published[0] == serving
        existing = published[1].objects if published is not None and is_serving else set()
        stored = self._upload_files(name.store_id, files, existing, known_digests)
        snapshot = SnapshotManifest(name.store_id, name.kind, stored, facts or {})
        manifest = snapshot.to_bytes()
        if not name.name:
            name = name._replace(name=hashlib.sha256(manifest).hexdigest())
        self.objects.put(name.key, manifest)
        while len(self._published) >= _REMEMBERED:
            self._published.pop(next(iter(self._published)), None)
        self._published[name[:2]] = name.name, snapshot
        return name, snapshot

    def _upload_files(
        self,
        store_id: StoreId,
        files: Mapping[str, Content],
        existing: set[str],
        known_digests: dict[tuple[str, FileState], str] | None,
    ) -> dict[str, PackedFileLocation]:
        """Upload large files one by one, and the small ones as one object."""
        stored: dict[str, PackedFileLocation] = {}
        pack = bytearray()
        for path, content in sorted(files.items()):
            small = _read_if_small(content)
            if small is not None:
                digest = hashlib.sha256(small).hexdigest()
                stored[path] = PackedFileLocation(digest, len(small), "", len(pack))
                pack += small
            elif isinstance(content, Path):
                packed_file = self._upload_large_file(
                    store_id, content, existing, known_digests
                )
                stored[path] = packed_file
                existing.add(packed_file.object_name)
        whole = hashlib.sha256(pack).hexdigest()
        if (
            any(not packed_file.object_name for packed_file in stored.values())
            and whole not in existing
        ):
            self.objects.put(_object_key(store_id, whole), bytes(pack))
        return {
            path: packed_file
            if packed_file.object_name
            else packed_file._replace(object_name=whole)
            for path, packed_file in stored.items()
        }

    def read_manifest(self, name: SnapshotName) -> SnapshotManifest:
        """Return the manifest of a snapshot.

        Raises:
            MissingObjectError: when there is none of that name.
            InvalidObjectError: when it is damaged.
            ObjectStoreUnavailableError: when the store does not answer.
        """
        return SnapshotManifest.from_bytes(self.objects.get(name.key), name)

    def has(self, name: SnapshotName) -> bool:
        """Return whether the snapshot was published.

        Raises:
            ObjectStoreUnavailableError: when the store does not answer.
        """
        return self.objects.has(name.key)

    def download(
        self, name: SnapshotName, wanted: Sequence[tuple[PackedFileLocation, Path]]
    ) -> None:
        """Write files of a snapshot to their target paths, in order, each verified.

        A target appears under its name when it is complete and durable. A damaged object
        is fetched twice before it is refused.

        Raises:
            MissingObjectError: when an object is gone.
            InvalidObjectError: when a file does not match its checksum.
            ObjectStoreUnavailableError: when the store does not answer.
            OSError: when the disk is full or fails.
        """
        packs: dict[str, bytes] = {}
        for packed_file, target in wanted:
            key = _object_key(name.store_id, packed_file.object_name)
            try:
                self._download_file(key, packed_file, target, packs)
            except InvalidObjectError:
                packs.clear()
                self._download_file(key, packed_file, target, packs)

    def _download_file(
        self,
        key: str,
        packed_file: PackedFileLocation,
        target: Path,
        packs: dict[str, bytes],
    ) -> None:
        with write_atomically(target) as file:
            if packed_file.sha256 == packed_file.object_name:
                _reject_unless_intact(
                    key, self.objects.read_into_and_hash(key, file) == packed_file.sha256
                )
                return
            if key not in packs:
                packs[key] = self.objects.get(key)
            content = packs[key][packed_file.offset : packed_file.offset + packed_file.size]
            _reject_unless_intact(
                key, hashlib.sha256(content).hexdigest() == packed_file.sha256
            )
            file.write(content)

    def _upload_large_file(
        self,
        store_id: StoreId,
        path: Path,
        existing: set[str],
        known_digests: dict[tuple[str, FileState], str] | None,
    ) -> PackedFileLocation:
        """Upload a large file, unless it exists; the digest is of what is uploaded."""
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            state = str(path), (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            digest = None if known_digests is None else known_digests.get(state)
            if digest is None:
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                    digest = hashlib.sha256(content).hexdigest()
                if known_digests is not None:
                    known_digests[state] = digest
            if digest not in existing:
                self.objects.put(_object_key(store_id, digest), file)
        return PackedFileLocation(digest, stat.st_size, digest, 0)

    def purge(
        self,
        store_id: StoreId,
        serving: Mapping[str, str | None],
        *,
        grace_seconds: float = GRACE_SECONDS,
        keep_previous: bool = True,
    ) -> int:
        """Delete what no serving or previous snapshot of a store needs; return how many.

        Whatever is younger than `grace_seconds` remains: a reader may be downloading it,
        or a worker is about to move the pointer to it.

        Raises:
            ObjectStoreUnavailableError: when the store does not answer.
        """
        # Objects are listed before manifests: a manifest that is written in between names
        # objects that are younger than the grace period.
        prefix = f"{_STORES}/{store_id}"
        objects = list(self.objects.list(f"{prefix}/{_OBJECTS}"))
        needed: set[str] = set()
        doomed: list[str] = []
        for kind in KINDS:
            for manifest, is_kept in _manifests_and_whether_kept(
                list(self.objects.list(f"{prefix}/{kind}")),
                serving.get(kind),
                grace_seconds,
                keep_previous=keep_previous,
            ):
                if is_kept:
                    needed |= self._needed_objects(
                        SnapshotName(store_id, kind, _last_part(manifest.key))
                    )
                else:
                    doomed.append(manifest.key)
        doomed += [
            stored_object.key
            for stored_object in objects
            if stored_object.age >= grace_seconds
            and _last_part(stored_object.key) not in needed
        ]
        self.objects.delete(doomed)
        return len(doomed)

    def remove_other_snapshots(self, name: SnapshotName) -> None:
        """Delete the other snapshots of a kind of a store, with what only they need.

        Raises:
            ObjectStoreUnavailableError: when the store does not answer.
        """
        prefix = f"{_STORES}/{name.store_id}/{name.kind}"
        others = [
            manifest.key
            for manifest in self.objects.list(prefix)
            if _last_part(manifest.key) != name.name
        ]
        unneeded = {
            object_name
            for key in others
            for object_name in self._needed_objects(name._replace(name=_last_part(key)))
        } - self._needed_objects(name)
        self.objects.delete(
            [
                *others,
                *(_object_key(name.store_id, object_name) for object_name in unneeded),
            ]
        )

    def remove_store(self, store_id: StoreId) -> None:
        """Delete everything of a store.

        Raises:
            ObjectStoreUnavailableError: when the store does not answer.
        """
        self.objects.delete(
            [
                stored_object.key
                for stored_object in self.objects.list(f"{_STORES}/{store_id}")
            ]
        )

    def store_ids(self) -> set[StoreId]:
        """Return the stores that have objects.

        Raises:
            ObjectStoreUnavailableError: when the store does not answer.
        """
        return {StoreId(store_id) for store_id in self.objects.list_folders(_STORES)}

    def _needed_objects(self, name: SnapshotName) -> set[str]:
        """Return the objects that a manifest names; none if it cannot be read."""
        try:
            return self.read_manifest(name).objects
        except (MissingObjectError, InvalidObjectError):
            return set()


def _manifests_and_whether_kept(
    manifests: list[ObjectSummary],
    serving: str | None,
    grace_seconds: float,
    *,
    keep_previous: bool,
) -> Iterator[tuple[ObjectSummary, bool]]:
    """Yield each manifest of one kind, and whether it remains."""
    others = [manifest for manifest in manifests if _last_part(manifest.key) != serving]
    previous = max(others, key=lambda manifest: (-manifest.age, manifest.key), default=None)
    for manifest in manifests:
        is_serving = _last_part(manifest.key) == serving
        is_previous = keep_previous and manifest is previous
        yield manifest, is_serving or is_previous or manifest.age < grace_seconds


def _read_if_small(content: Content) -> bytes | None:
    """Return content that is packed; None for a large file."""
    if isinstance(content, bytes):
        return content
    return content.read_bytes() if content.stat().st_size < _PACKED_BELOW else None


def _object_key(store_id: StoreId, digest: str) -> str:
    return f"{_STORES}/{store_id}/{_OBJECTS}/{digest}"


def _last_part(key: str) -> str:
    return key.rsplit("/", 1)[-1]


def _reject_unless_intact(key: str, is_intact: bool) -> None:  # noqa: FBT001 - the only argument but a name
    if not is_intact:
        _log.warning("object rejected", extra={"object": key})
        message = f"the object {key} does not match its checksum"
        raise InvalidObjectError(message)
