"""Logins: the stores that one login opens, with its role in each."""
