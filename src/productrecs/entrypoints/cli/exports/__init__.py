"""Commands that export a store's data and one shopper's."""
