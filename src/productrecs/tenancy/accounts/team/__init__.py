"""Team: the users of a store's dashboard, and invitations for new ones."""
