"""What a store's own system calls to connect itself, with the secret key."""
