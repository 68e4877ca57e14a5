"""Text search engine: texts and queries in, item numbers and scores out.

tantivy holds the inverted index. This package tokenises, stems, corrects spelling and
weighs fields. It stores the index in the folder that it is given and knows no store.
"""
