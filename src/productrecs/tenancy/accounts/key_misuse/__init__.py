"""Key misuse: leaked secret keys and foreign origins, reported to the store's owner."""
