"""Uploads: files that are stored first, and imported in the background by a worker."""
