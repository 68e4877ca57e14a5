"""Text search engine: texts and queries in, item numbers and scores out.

tantivy has the inverted index. This package tokenises, stems, corrects spelling and weights
fields. It stores the index in a given folder and does not know stores.
"""
