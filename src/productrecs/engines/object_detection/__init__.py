"""What do models say that others trained? Their outputs, made boxes and vectors."""
