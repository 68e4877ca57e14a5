"""Entry points: HTTP, background worker, command line. They contain no business rules."""
