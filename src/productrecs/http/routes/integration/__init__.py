"""Integration routes: a store's plugin changes the store, with the secret key."""
