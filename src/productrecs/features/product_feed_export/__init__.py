"""Product feed export: the catalog as files that Google, Meta and ChatGPT fetch."""
