"""Second factors of users, and logins that wait for a code."""
