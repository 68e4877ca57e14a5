"""Doctor: diagnostic checks of an installation, each with a level and a fix."""
