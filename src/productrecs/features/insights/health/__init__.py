"""Does what a store sends come in as it should? Counts by the hour, and what is unknown."""
