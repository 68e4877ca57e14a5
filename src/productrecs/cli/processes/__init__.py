"""Processes: serve, api, worker, and the supervisor that runs them."""
