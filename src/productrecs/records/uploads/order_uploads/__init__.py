"""Order uploads: files of past orders that the API received."""
