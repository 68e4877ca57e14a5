"""Developer guides: their index, pages, search, and rendering as Markdown and HTML.

Facts that exist as data (settings, routes, codes) are passed in as `facts`. Nothing here
depends on HTTP.
"""
