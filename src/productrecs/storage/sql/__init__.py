"""SQL: the database, its dialects, tables and migrations, and writes in batches."""
