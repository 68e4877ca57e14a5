"""Writes: the one client of API processes, the writer process, background writes."""
