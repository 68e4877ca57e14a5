"""Browser tests: widgets and the dashboard as people see them, in Chromium."""
