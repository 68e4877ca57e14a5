"""Index files: a store's search index on disk, its checksums, and private copies of it.

A store has a folder of generations. Each is one index, written by one process and read by
many; `current.json`, replaced by a rename, names the one that serves, how far it has
followed the catalog, and a checksum of each file. An index can always be rebuilt from the
catalog, so damaged or missing files are not repaired but built anew.
"""

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from productrecs.core.errors import ProductRecsError
from productrecs.storage.folders_and_permissions import (
    lock_folder,
    remove_abandoned_folders,
    remove_locked_folder,
)

_CURRENT: Final = "current.json"
_DAMAGED: Final = "damaged"
_BLOCK: Final = 1 << 20
# The library's own notes; everything else below a generation is written once.
META: Final = "meta.json"
_CHANGING: Final = frozenset({META, ".managed.json"})

# Files of a segment that go while it stays.
TEMPORARY_SUFFIXES: Final = frozenset({".del", ".temp"})


class DamagedIndexError(ProductRecsError):
    """A file of the index is damaged; the index must be rebuilt."""


@dataclass(frozen=True, slots=True)
class IndexManifest:
    """The manifest of the serving index (`current.json`)."""

    generation: str
    format: str
    language: str  # that its words were stemmed in
    told_language: str  # the store's setting then
    applied_seq: int  # the catalog's changes up to here are in it
    commit: int = 0  # grows with every commit
    looked_at_size: int = 0  # products there were when the language was last looked at
    files: Mapping[str, int] | None = None  # checksum by path below the generation


class IndexFolder:
    """The index files of one store."""

    def __init__(self, folder: Path) -> None:
        """Look below `folder`, which need not exist."""
        self.folder = folder
        self._looks: dict[str, tuple[int, int, int]] = {}

    def path(self, generation: str) -> Path:
        """Return the folder of one generation."""
        return self.folder / generation

    def stamp(self) -> tuple[int, int, int] | None:
        """Return what changes with every commit, at the cost of one look; None without."""
        try:
            seen = (self.folder / _CURRENT).stat()
        except OSError:
            return None
        return seen.st_mtime_ns, seen.st_ino, seen.st_size

    def current(self) -> IndexManifest | None:
        """Return the seal of the index that serves; None when none does."""
        try:
            return IndexManifest(**json.loads((self.folder / _CURRENT).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def new_generation(self) -> str:
        """Make the folder of another index and return its name."""
        name = f"index-{secrets.token_hex(6)}"
        self.path(name).mkdir(parents=True)
        return name

    def publish(self, seal: IndexManifest) -> IndexManifest:
        """Let readers follow `seal` from now on; return it with its checksums."""
        known = dict(seal.files or {})
        whole = replace(seal, files=self._checksums(seal.generation, known))
        draft = self.folder / f".{_CURRENT}"
        draft.write_text(json.dumps(asdict(whole)), "utf-8")
        draft.replace(self.folder / _CURRENT)
        return whole

    def check(self, seal: IndexManifest) -> None:
        """Compare the files with their checksums.

        Files that are gone may have been merged into others.

        Raises:
            DamagedIndexError: when any file is not what was written, or missing.
        """
        root = self.path(seal.generation)
        known = {root / name: one for name, one in (seal.files or {}).items()}
        for folder in {path.parent for path in known}:
            if not (folder / META).exists():
                message = f"the library's own note of {folder.name} is gone"
                raise DamagedIndexError(message)
        for path, checksum in known.items():
            found = _checksum(path)
            if found != checksum and (found is not None or _is_needed(path)):
                said = "gone" if found is None else "damaged"
                message = f"the index file {path.name} is {said}"
                raise DamagedIndexError(message)

    def is_touched(self, seal: IndexManifest) -> bool:
        """Return whether a file was written to, cut or removed since the last look."""
        root = self.path(seal.generation)
        before, self._looks = self._looks, {}
        for name in seal.files or {}:
            try:
                seen = (root / name).stat()
            except OSError:
                if name in before and _is_needed(root / name):
                    return True
                continue
            self._looks[name] = (seen.st_mtime_ns, seen.st_size, seen.st_ino)
        return any(before.get(name, look) != look for name, look in self._looks.items())

    def note_damage(self, generation: str) -> None:
        """Mark `generation` as damaged; the writer then builds a new index."""
        with contextlib.suppress(OSError):
            (self.folder / _DAMAGED).write_text(generation, "utf-8")

    def is_damaged(self, generation: str) -> bool:
        """Return whether `generation` is marked as damaged."""
        try:
            return (self.folder / _DAMAGED).read_text("utf-8") == generation
        except OSError:
            return False

    def clean(self, keep: str) -> None:
        """Remove every generation but `keep`; who still reads one goes on reading it."""
        with contextlib.suppress(OSError):
            if (self.folder / _DAMAGED).read_text("utf-8") != keep:
                (self.folder / _DAMAGED).unlink()
        for one in self.folder.glob("index-*"):
            if one.name != keep:
                shutil.rmtree(one, ignore_errors=True)

    def remove(self) -> None:
        """Remove all index files of this store."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _checksums(self, generation: str, known: Mapping[str, int]) -> dict[str, int]:
        """Return the checksums of all that the last commits hold.

        Files of no committed segment belong to a merge that is being written meanwhile.
        """
        root, found = self.path(generation), dict[str, int]()
        committed = {one: _segments(one) for one in root.glob("*") if one.is_dir()}
        for path in sorted(root.glob("*/*")):
            if path.name in _CHANGING or path.suffix == ".lock":
                continue
            segments = committed.get(path.parent)
            if segments is not None and path.name.split(".")[0] not in segments:
                continue
            name = str(path.relative_to(root))
            checksum = known.get(name)
            if checksum is None:
                checksum = _checksum(path)
            if checksum is not None:
                found[name] = checksum
        for name in known.keys() - found.keys():
            if _is_needed(root / name):
                found[name] = known[name]  # `check` will miss it
        return found


@contextlib.contextmanager
def exclusive_writer(folder: Path) -> Iterator[bool]:
    """Lock `folder` for writing; yields False when another process holds the lock.

    The system takes it back when the process ends, however it ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / ".writer", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield _locked(handle)
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _segments(folder: Path) -> frozenset[str] | None:
    """Return the names of the segments that were committed; None where there are none."""
    try:
        return segment_names((folder / META).read_bytes())
    except OSError:
        return None


def segment_names(note: bytes) -> frozenset[str] | None:
    """Return the names of the segments in a note; None when it is invalid.

    Source: tantivy's `meta.json`, whose ids name a segment's files without their dashes.
    """
    try:
        note_fields = json.loads(note)
        return frozenset(
            one["segment_id"].replace("-", "") for one in note_fields["segments"]
        )
    except (ValueError, KeyError, TypeError):
        return None


def _is_needed(path: Path) -> bool:
    """Return whether the index still needs a file; called after it was not found.

    What was deleted of a segment is noted in another file each time.
    """
    segments = _segments(path.parent) or ()
    return path.suffix not in TEMPORARY_SUFFIXES and path.name.split(".")[0] in segments


def _checksum(path: Path) -> int | None:
    """Return the checksum of a file; None when it is gone."""
    value = 0
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                value = zlib.crc32(block, value)
    except FileNotFoundError:
        return None
    except OSError:
        return -1
    return value


def index_log_fields(seal: IndexManifest) -> dict[str, Any]:
    """Return what the log says of an index."""
    return {
        "generation": seal.generation,
        "language": seal.language,
        "seq": seal.applied_seq,
        "files": len(seal.files or {}),
    }


_COPIES: Final = ".read"
_TRIES: Final = 5
_LINKS: Final = "productrecs-index-"
_NOT_OURS: Final = frozenset({".lock", ".temp"})


class IndexCopy:
    """One reader's copy of the serving index, removed with the reader."""

    def __init__(self, folder: IndexFolder) -> None:
        """Copy from `folder`, once there is something."""
        self._folder = folder
        self._own: Path | None = None
        self._links: Path | None = None

    def follow(self, seal: IndexManifest) -> Path:
        """Copy the new files of an index, checked; return the folder to read it from.

        Raises:
            DamagedIndexError: when a file is not what was written, or missing.
            OSError: when no copy can be written.
        """
        source = self._folder.path(seal.generation)
        target = self._path() / seal.generation
        for tries in range(1, _TRIES + 1):
            try:
                _bring(source, target, seal)
                break
            except FileNotFoundError as error:  # perhaps merged meanwhile
                if tries == _TRIES:
                    message = f"a file of the index is gone: {error.filename}"
                    raise DamagedIndexError(message) from error
        return target

    def in_place(self, seal: IndexManifest) -> Path:
        """Return a folder of links to the files of an index, checked where they are.

        Raises:
            DamagedIndexError: when a file is not what was written, or missing.
        """
        self._folder.check(seal)
        source = self._folder.path(seal.generation)
        try:
            return _link(source, self._linking() / f"{seal.generation}-{seal.commit}")
        except OSError:
            return source  # the library may yet open it

    def keep_only(self, path: Path) -> None:
        """Remove every copy but the one at `path`."""
        for parent in (self._own, self._links):
            for one in parent.glob("index-*") if parent is not None else ():
                if one != path:
                    shutil.rmtree(one, ignore_errors=True)

    def _linking(self) -> Path:
        if self._links is None or not self._links.exists():
            remove_abandoned_folders(Path(tempfile.gettempdir()), f"{_LINKS}*")
            self._links = Path(tempfile.mkdtemp(prefix=_LINKS))
            self._hold(self._links)
        return self._links

    def _hold(self, own: Path) -> None:
        """Say for as long as this reader lives that `own` is in use; then remove it."""
        weakref.finalize(self, remove_locked_folder, own, lock_folder(own))

    def _path(self) -> Path:
        if self._own is None or not self._own.exists():
            copies = self._folder.folder.parent / _COPIES
            remove_abandoned_folders(copies)
            own = copies / secrets.token_hex(8)
            own.mkdir(parents=True)
            self._hold(own)
            self._own = own
        return self._own


def _bring(source: Path, target: Path, seal: IndexManifest) -> None:
    """Copy the files that the notes in `source` name and `target` lacks; the notes last.

    Raises:
        FileNotFoundError: when what they name is gone.
        DamagedIndexError: when a file is not what was written.
    """
    known = seal.files or {}
    parts = {name.split("/", 1)[0] for name in known}
    parts.update(note.parent.name for note in source.glob(f"*/{META}"))
    notes = {part: (source / part / META).read_bytes() for part in sorted(parts)}
    for part, note in notes.items():
        segments = segment_names(note) or frozenset()
        (target / part).mkdir(parents=True, exist_ok=True)
        wanted = {
            path.name
            for path in (source / part).iterdir()
            if path.name.split(".")[0] in segments and path.suffix not in _NOT_OURS
        }
        wanted.update(
            name.split("/", 1)[1]
            for name in known
            if name.startswith(f"{part}/") and Path(name).suffix not in TEMPORARY_SUFFIXES
            if Path(name).name.split(".")[0] in segments
        )
        for name in sorted(wanted):
            if not (target / part / name).exists():
                _copy(source, target, f"{part}/{name}", known.get(f"{part}/{name}"))
        draft = target / part / f".{META}"
        draft.write_bytes(note)
        draft.replace(target / part / META)
        for path in (target / part).iterdir():
            if path.name not in wanted and path.name != META and path.suffix != ".lock":
                path.unlink(missing_ok=True)  # who reads it goes on reading it


def _copy(source: Path, target: Path, name: str, checksum: int | None) -> None:
    content = (source / name).read_bytes()
    if checksum is not None and zlib.crc32(content) != checksum:
        message = f"the index file {name} is damaged"
        raise DamagedIndexError(message)
    draft = target / f"{name}.draft"
    draft.write_bytes(content)
    draft.replace(target / name)


def _link(source: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    for path in source.glob("*/*"):
        if path.suffix not in _NOT_OURS:
            link = target / path.relative_to(source)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path.resolve())
    return target
