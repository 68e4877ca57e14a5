"""Placements: the merchant's named places for lists; stored, validated and versioned."""
