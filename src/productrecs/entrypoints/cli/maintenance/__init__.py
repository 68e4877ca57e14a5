"""Commands that back up, restore and migrate the data."""
