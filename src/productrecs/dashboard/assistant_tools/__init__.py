"""Assistant tools: an MCP server over a store, for the merchant's own assistant.

A tool calls the function that makes the dashboard's page, so both show the same. A tool
that changes the store sends the page's form.
"""
