"""Team: the people of a store's dashboard, and invitations for more."""
