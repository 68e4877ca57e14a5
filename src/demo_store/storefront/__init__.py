"""The demo's shop window: pages under /demo, which talk to the service as any shop does.

Pages are plain HTML that works without scripts. What the service adds comes by its widgets
and its public routes; a cart, a checkout and who is signed in are the shop's own.
"""
