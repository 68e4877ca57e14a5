"""Core: ids, clocks, errors and other types of every layer; standard library only."""
