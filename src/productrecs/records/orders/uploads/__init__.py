"""Uploads: order histories that are stored first and imported in the background."""
