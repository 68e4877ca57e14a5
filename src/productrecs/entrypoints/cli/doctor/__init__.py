"""Doctor: diagnostic checks of an installation, one module for each part of it."""
