"""Files: models and search indexes on disk, and their snapshots in the object store."""
