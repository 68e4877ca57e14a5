"""What a shop's pages call, with the publishable key and without a preflight."""
