"""What the service promises whatever happens, each with a control that breaks it."""
