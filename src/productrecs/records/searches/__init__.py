"""What was searched for, counted by what it was about and by day; nobody is remembered.

Knows no index and no results: who searches tells how it went.
"""
