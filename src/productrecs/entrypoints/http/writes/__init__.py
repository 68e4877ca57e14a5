"""Writes: the client and server of the writer process, and write-behind buffers."""
