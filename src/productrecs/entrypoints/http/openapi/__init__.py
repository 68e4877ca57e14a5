"""OpenAPI: the published document, its responses and its error examples."""
