"""Users of the dashboard: their logins, sessions, second factors and reset links."""
