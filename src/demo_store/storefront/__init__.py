"""Storefront: the demo shop's pages under /demo, which call the service like any shop.

Pages are plain HTML that works without scripts. The service adds its widgets and answers
its public routes; the cart, the checkout and the sign-in are the shop's own.
"""
