"""Pages: one module per page of the dashboard."""
