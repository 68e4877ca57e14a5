"""Writes: the client and the server of the writer process."""
