"""Broken variant: deleted items stay in the catalog of the API process."""

from productrecs.records.catalog.catalog_view import CatalogView

setattr(CatalogView, "_remove", lambda *_: None)  # noqa: B010 - the fault itself
