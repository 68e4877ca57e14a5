"""What a merchant's server calls, with the secret key."""
