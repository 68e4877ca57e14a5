"""Order histories that merchants hand in: kept safe first, imported in the background."""
