"""Opened mails: the products that each mail shows, and how often mails were opened."""
