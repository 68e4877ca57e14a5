"""Index copy: the private copy of a search index that one process reads.

The search library maps files into memory: a file that is changed in place changes for its
readers, and one that is cut short ends the process. A copy below `.read`, checked while it
is made, is touched by nobody else; of each commit only new files are copied. Where the disk
takes no copy, files are read in place through links in the system's temporary folder: the
library writes lock files beside what it opens, which a read-only disk refuses.
"""

import secrets
import shutil
import tempfile
import weakref
import zlib
from pathlib import Path
from typing import Final

from productrecs.storage.index_files import (
    META,
    TEMPORARY_SUFFIXES,
    DamagedIndexError,
    IndexFolder,
    IndexManifest,
    segment_names,
)
from productrecs.storage.temp_folders import (
    lock_folder,
    remove_abandoned_folders,
    remove_locked_folder,
)

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
