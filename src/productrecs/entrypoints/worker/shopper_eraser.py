"""Shopper eraser: built from the services of this installation."""

from productrecs.entrypoints.services import Services
from productrecs.features.privacy.erasure import Eraser


def build_eraser(services: Services) -> Eraser:
    """Return the one that works on these services' database and folders."""
    return Eraser(
        services.database,
        services.settings.data,
        services.models,
        services.trails,
        services.clock,
    )
