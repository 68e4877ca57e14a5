"""Product features for merchants: independent slices that do not import one another."""
