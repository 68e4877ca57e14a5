"""Broken variant: serves a model without checking the digests of its files."""

from productrecs.storage.files import model_files

setattr(model_files, "_verify_checksum", lambda *_: None)  # noqa: B010 - the fault itself
