"""Failed logins, counted by account and by address."""
