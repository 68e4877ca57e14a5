"""The ways in: HTTP, background worker, command line. They compose and decide nothing."""
