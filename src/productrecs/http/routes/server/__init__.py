"""Server routes: catalog and orders, called by a merchant's server with the secret key."""
