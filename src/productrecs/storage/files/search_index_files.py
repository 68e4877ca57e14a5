"""Index files: a store's search index on disk, its checksums, and private copies of it.

A store has a folder of generations. Each generation is one index, written by one process
and read by many. `current.json`, replaced by a rename, names the serving generation, the
catalog position that it covers, and a checksum of each file. An index can always be rebuilt
from the catalog, so damaged or missing files are rebuilt, not repaired.
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
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from productrecs.core.errors import ProductRecsError
from productrecs.core.private_folders import (
    lock_folder,
    remove_abandoned_folders,
    remove_locked_folder,
)

_CURRENT: Final = "current.json"
_DAMAGED: Final = "damaged"
_BLOCK: Final = 1 << 20
# The library's metadata; all other files of a generation are written once.
META: Final = "meta.json"
_CHANGING: Final = frozenset({META, ".managed.json"})
INDEXER_VECTORS: Final = "-vectors.npz"
"""End of the names of embedded texts beside an index; readers use the spaces of them."""

# Files that the library deletes while their segment remains.
TEMPORARY_SUFFIXES: Final = frozenset({".del", ".temp"})


class DamagedIndexError(ProductRecsError):
    """A file of the index is damaged; the index must be rebuilt."""


@dataclass(frozen=True, slots=True)
class IndexManifest:
    """The manifest of the serving index (`current.json`)."""

    generation: str
    format: str
    language: str  # stemming language of the index
    told_language: str  # the store's setting at that time
    applied_seq: int  # the catalog position that the index covers
    commit: int = 0  # grows with every commit
    looked_at_size: int = 0  # catalog size at the last language detection
    files: Mapping[str, int] | None = None  # checksum by path below the generation


class IndexFolder:
    """The index files of one store."""

    def __init__(self, folder: Path) -> None:
        """Use `folder`, which need not exist."""
        self.folder = folder
        self._file_stats: dict[str, tuple[int, int, int]] = {}

    def path(self, generation: str) -> Path:
        """Return the folder of one generation."""
        return self.folder / generation

    def stamp(self) -> tuple[int, int, int] | None:
        """Return a stamp that changes with every commit, cheaply; None without an index."""
        try:
            stat = (self.folder / _CURRENT).stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_ino, stat.st_size

    def serving_manifest(self) -> IndexManifest | None:
        """Return the manifest of the serving index; None without one."""
        try:
            return IndexManifest(**json.loads((self.folder / _CURRENT).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def create_generation_folder(self) -> str:
        """Create the folder of a new index and return its name."""
        name = f"index-{secrets.token_hex(6)}"
        self.path(name).mkdir(parents=True)
        return name

    def publish_with_checksums(self, manifest: IndexManifest) -> IndexManifest:
        """Publish `manifest` to readers; return it with its checksums."""
        known_checksums = dict(manifest.files or {})
        complete = replace(
            manifest, files=self._committed_checksums(manifest.generation, known_checksums)
        )
        draft = self.folder / f".{_CURRENT}"
        draft.write_text(json.dumps(asdict(complete)), "utf-8")
        draft.replace(self.folder / _CURRENT)
        return complete

    def verify_checksums(self, manifest: IndexManifest) -> None:
        """Compare the files with their checksums.

        Missing files may have been merged into others.

        Raises:
            DamagedIndexError: when a file has changed or is missing.
        """
        root = self.path(manifest.generation)
        known_checksums = {
            root / name: checksum for name, checksum in (manifest.files or {}).items()
        }
        for folder in {path.parent for path in known_checksums}:
            if not (folder / META).exists():
                message = f"the library's own note of {folder.name} is gone"
                raise DamagedIndexError(message)
        for path, checksum in known_checksums.items():
            found = _file_crc32(path)
            if found != checksum and (found is not None or _is_in_committed_segment(path)):
                problem = "gone" if found is None else "damaged"
                message = f"the index file {path.name} is {problem}"
                raise DamagedIndexError(message)

    def has_changed_since_last_check(self, manifest: IndexManifest) -> bool:
        """Return whether a file was modified, truncated or removed since the last check."""
        root = self.path(manifest.generation)
        before, self._file_stats = self._file_stats, {}
        for name in manifest.files or {}:
            try:
                stat = (root / name).stat()
            except OSError:
                if name in before and _is_in_committed_segment(root / name):
                    return True
                continue
            self._file_stats[name] = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        return any(
            before.get(name, file_stat) != file_stat
            for name, file_stat in self._file_stats.items()
        )

    def mark_damaged(self, generation: str) -> None:
        """Mark `generation` as damaged; the writer then builds a new index."""
        with contextlib.suppress(OSError):
            (self.folder / _DAMAGED).write_text(generation, "utf-8")

    def is_marked_damaged(self, generation: str) -> bool:
        """Return whether `generation` is marked as damaged."""
        try:
            return (self.folder / _DAMAGED).read_text("utf-8") == generation
        except OSError:
            return False

    def remove_other_generations(self, kept_generation: str) -> None:
        """Remove every generation except `kept_generation`.

        Open readers can still read theirs.
        """
        with contextlib.suppress(OSError):
            if (self.folder / _DAMAGED).read_text("utf-8") != kept_generation:
                (self.folder / _DAMAGED).unlink()
        for generation_folder in self.folder.glob("index-*"):
            if generation_folder.name != kept_generation:
                shutil.rmtree(generation_folder, ignore_errors=True)

    def files_to_copy(self) -> dict[str, bytes | Path]:
        """Return the files of the serving index by their path below the folder.

        Files that are replaced are returned as their content, so that later changes do not
        mix with it. Empty without an index.

        Raises:
            FileNotFoundError: when a file was merged meanwhile; call it again.
        """
        try:
            pointer = (self.folder / _CURRENT).read_bytes()
            generation = IndexManifest(**json.loads(pointer)).generation
        except (OSError, ValueError, TypeError):
            return {}
        found: dict[str, bytes | Path] = {_CURRENT: pointer}
        for part in self.path(generation).iterdir():
            if not (part / META).exists():
                continue
            metadata = (part / META).read_bytes()
            segments = segment_names(metadata) or frozenset()
            for path in part.iterdir():
                name = str(path.relative_to(self.folder))
                if path.name == META:
                    found[name] = metadata
                elif path.name in _CHANGING:
                    found[name] = path.read_bytes()
                elif (
                    path.name.split(".")[0] in segments
                    and path.suffix not in _UNCOPIED_SUFFIXES
                ):
                    found[name] = path
        found |= {path.name: path for path in self.folder.glob("*.npz")}
        return found

    @staticmethod
    def is_rewritten(path: str) -> bool:
        """Return whether a file's content changes, and is small."""
        return Path(path).name in _CHANGING or path == _CURRENT

    @staticmethod
    def is_only_for_indexer(path: str) -> bool:
        """Return whether only the process that writes the index reads a file."""
        return path.endswith(INDEXER_VECTORS)

    @staticmethod
    def writing_order_key(path: str) -> tuple[bool, bool, str]:
        """Return the place of a file in an order in which each names only earlier ones."""
        return path == _CURRENT, Path(path).name == META, path

    def remove_unlisted(self, files: Collection[str]) -> None:
        """Remove the generations' files that a complete list does not name."""
        for path in self.folder.glob("index-*/*/*"):
            name = str(path.relative_to(self.folder))
            if name not in files and path.suffix != ".lock":
                path.unlink(missing_ok=True)
        for generation in self.folder.glob("index-*"):
            if not any(name.startswith(f"{generation.name}/") for name in files):
                shutil.rmtree(generation, ignore_errors=True)

    def remove(self) -> None:
        """Remove all index files of this store."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _committed_checksums(
        self, generation: str, known_checksums: Mapping[str, int]
    ) -> dict[str, int]:
        """Return the checksums of all files of committed segments.

        Other files belong to a merge that is in progress.
        """
        root, found = self.path(generation), dict[str, int]()
        committed = {
            part: _committed_segments(part) for part in root.glob("*") if part.is_dir()
        }
        for path in sorted(root.glob("*/*")):
            if path.name in _CHANGING or path.suffix == ".lock":
                continue
            segments = committed.get(path.parent)
            if segments is not None and path.name.split(".")[0] not in segments:
                continue
            name = str(path.relative_to(root))
            checksum = known_checksums.get(name)
            if checksum is None:
                checksum = _file_crc32(path)
            if checksum is not None:
                found[name] = checksum
        for name in known_checksums.keys() - found.keys():
            if _is_in_committed_segment(root / name):
                found[name] = known_checksums[
                    name
                ]  # `verify_checksums` will report it as missing
        return found


@contextlib.contextmanager
def try_lock_for_writing(folder: Path) -> Iterator[bool]:
    """Lock `folder` for writing; yields False when another process holds the lock.

    The system releases the lock when the process ends for any reason.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / ".writer", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield _try_lock(handle)
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _committed_segments(folder: Path) -> frozenset[str] | None:
    """Return the names of the committed segments; None without an index."""
    try:
        return segment_names((folder / META).read_bytes())
    except OSError:
        return None


def segment_names(metadata: bytes) -> frozenset[str] | None:
    """Return the segment names in the library's metadata; None when it is invalid.

    Source: tantivy's `meta.json`; file names contain the segment's id without dashes.
    """
    try:
        fields = json.loads(metadata)
        return frozenset(
            segment["segment_id"].replace("-", "") for segment in fields["segments"]
        )
    except (ValueError, KeyError, TypeError):
        return None


def _is_in_committed_segment(path: Path) -> bool:
    """Return whether the index still needs a file that was not found.

    Each deletion in a segment is written to a new file.
    """
    segments = _committed_segments(path.parent) or ()
    return path.suffix not in TEMPORARY_SUFFIXES and path.name.split(".")[0] in segments


def _file_crc32(path: Path) -> int | None:
    """Return the checksum of a file; None when it is missing."""
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


def index_log_fields(manifest: IndexManifest) -> dict[str, Any]:
    """Return the log fields of an index."""
    return {
        "generation": manifest.generation,
        "language": manifest.language,
        "seq": manifest.applied_seq,
        "files": len(manifest.files or {}),
    }


_COPIES: Final = ".read"
_ATTEMPTS: Final = 5
_LINKS: Final = "productrecs-index-"
_UNCOPIED_SUFFIXES: Final = frozenset({".lock", ".temp"})


class IndexCopy:
    """One reader's copy of the serving index, removed with the reader."""

    def __init__(self, folder: IndexFolder) -> None:
        """Copy from `folder` once it has an index."""
        self._folder = folder
        self._copy_folder: Path | None = None
        self._links: Path | None = None

    def copy_new_files(self, manifest: IndexManifest) -> Path:
        """Copy and verify the new files of an index; return the folder of the copy.

        Raises:
            DamagedIndexError: when a file has changed or is missing.
            OSError: when the copy cannot be written.
        """
        source = self._folder.path(manifest.generation)
        target = self._get_or_make_copy_folder() / manifest.generation
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                _mirror_changed_files(source, target, manifest)
                break
            except FileNotFoundError as error:  # possibly merged meanwhile
                if attempt == _ATTEMPTS:
                    message = f"a file of the index is gone: {error.filename}"
                    raise DamagedIndexError(message) from error
        return target

    def verify_and_link_files(self, manifest: IndexManifest) -> Path:
        """Return a folder of links to the files of an index, verified in place.

        Raises:
            DamagedIndexError: when a file has changed or is missing.
        """
        self._folder.verify_checksums(manifest)
        source = self._folder.path(manifest.generation)
        try:
            return _link_files(
                source,
                self._get_or_make_links_folder()
                / f"{manifest.generation}-{manifest.commit}",
            )
        except OSError:
            return source  # the library may still be able to open it

    def remove_copies_except(self, path: Path) -> None:
        """Remove every copy except the one at `path`."""
        for parent in (self._copy_folder, self._links):
            for generation_folder in parent.glob("index-*") if parent is not None else ():
                if generation_folder != path:
                    shutil.rmtree(generation_folder, ignore_errors=True)

    def _get_or_make_links_folder(self) -> Path:
        if self._links is None or not self._links.exists():
            remove_abandoned_folders(Path(tempfile.gettempdir()), f"{_LINKS}*")
            self._links = Path(tempfile.mkdtemp(prefix=_LINKS))
            self._lock(self._links)
        return self._links

    def _lock(self, folder: Path) -> None:
        """Lock `folder` as in use while this reader lives; then remove it."""
        weakref.finalize(self, remove_locked_folder, folder, lock_folder(folder))

    def _get_or_make_copy_folder(self) -> Path:
        if self._copy_folder is None or not self._copy_folder.exists():
            copies = self._folder.folder.parent / _COPIES
            remove_abandoned_folders(copies)
            folder = copies / secrets.token_hex(8)
            folder.mkdir(parents=True)
            self._lock(folder)
            self._copy_folder = folder
        return self._copy_folder


def _mirror_changed_files(source: Path, target: Path, manifest: IndexManifest) -> None:
    """Copy files that the metadata names and `target` lacks, then the metadata.

    Raises:
        FileNotFoundError: when a named file is missing.
        DamagedIndexError: when a file has changed.
    """
    known_checksums = manifest.files or {}
    folders = {name.split("/", 1)[0] for name in known_checksums}
    folders.update(metadata.parent.name for metadata in source.glob(f"*/{META}"))
    metadata_by_folder = {
        folder: (source / folder / META).read_bytes() for folder in sorted(folders)
    }
    for folder, metadata in metadata_by_folder.items():
        segments = segment_names(metadata) or frozenset()
        (target / folder).mkdir(parents=True, exist_ok=True)
        needed_names = {
            path.name
            for path in (source / folder).iterdir()
            if path.name.split(".")[0] in segments and path.suffix not in _UNCOPIED_SUFFIXES
        }
        needed_names.update(
            name.split("/", 1)[1]
            for name in known_checksums
            if name.startswith(f"{folder}/") and Path(name).suffix not in TEMPORARY_SUFFIXES
            if Path(name).name.split(".")[0] in segments
        )
        for name in sorted(needed_names):
            if not (target / folder / name).exists():
                _copy_verified(
                    source,
                    target,
                    f"{folder}/{name}",
                    known_checksums.get(f"{folder}/{name}"),
                )
        draft = target / folder / f".{META}"
        draft.write_bytes(metadata)
        draft.replace(target / folder / META)
        for path in (target / folder).iterdir():
            if (
                path.name not in needed_names
                and path.name != META
                and path.suffix != ".lock"
            ):
                path.unlink(missing_ok=True)  # open readers can still read it


def _copy_verified(source: Path, target: Path, name: str, checksum: int | None) -> None:
    content = (source / name).read_bytes()
    if checksum is not None and zlib.crc32(content) != checksum:
        message = f"the index file {name} is damaged"
        raise DamagedIndexError(message)
    draft = target / f"{name}.draft"
    draft.write_bytes(content)
    draft.replace(target / name)


def _link_files(source: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    for path in source.glob("*/*"):
        if path.suffix not in _UNCOPIED_SUFFIXES:
            link = target / path.relative_to(source)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path.resolve())
    return target
