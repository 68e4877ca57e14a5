"""Public routes: health, metrics, guides, widget scripts and the index, without a key."""
