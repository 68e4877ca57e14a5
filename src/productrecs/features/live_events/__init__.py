"""Live events: what a store's pages and server sent last, each with a verdict."""
