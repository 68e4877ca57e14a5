"""Commands that print what a shop embeds and what an API client reads."""
