"""What pages give away of a store, for its owner. Knows no request."""
