"""The engines, each beside a reference written from its formula alone."""
