"""Pages: one module per page of the dashboard, in a folder per group of the navigation."""
