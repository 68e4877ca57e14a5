"""What anybody may call: health and the index."""
