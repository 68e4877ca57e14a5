"""What does a merchant owe a shopper who asks? All that is kept of them, or to forget it.

A shopper is a person with all names that lead to them. Never decides who may ask.
"""
