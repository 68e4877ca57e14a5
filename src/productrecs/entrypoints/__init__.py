"""The ways in: HTTP, the background worker, the command line. They compose; they decide nothing."""
