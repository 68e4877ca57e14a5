"""Commands that train, tune, forecast and read pictures."""
