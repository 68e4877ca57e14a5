"""Assistants: what shopping assistants may do, by UCP and in shoppers' browsers."""
