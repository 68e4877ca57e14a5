"""Integration routes: called by a store's plugin, with the secret key."""
