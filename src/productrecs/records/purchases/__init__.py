"""Purchases: all SQL of purchase lines. Orders write them; events and reports ask here."""
