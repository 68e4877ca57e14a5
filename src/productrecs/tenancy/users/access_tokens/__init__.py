"""Access tokens: what lets a merchant's own assistant read or change a store."""
