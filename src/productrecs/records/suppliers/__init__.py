"""Suppliers: from whom the merchant orders products, and on which terms."""
