"""Broken variant: a photo ends the process that answers the request."""

import os

from productrecs.training.visual.photo_worker_owner import StorePhotoSearch

StorePhotoSearch.similar_items = lambda *_: os.abort()  # type: ignore[method-assign]  # the fault itself
