"""Which products do words mean? Texts and queries in, item numbers and scores out.

The inverted index is tantivy's; this package says what a word is, what a mistyped one may
have meant, and what counts. It keeps its index where it is told to and knows no store.
"""
