"""Connect: from the shop system to the first list, imports, events and widgets."""
