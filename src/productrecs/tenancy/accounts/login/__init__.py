"""Login: users of the dashboard, their passwords, sessions and reset links."""
