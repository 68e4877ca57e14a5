"""Client of ProductRecs, with types: `ProductRecs`, and `AsyncProductRecs` for asyncio."""

from productrecs_client.client import AsyncProductRecs, ProductRecs
from productrecs_client.transport import ProductRecsError

__all__ = ["AsyncProductRecs", "ProductRecs", "ProductRecsError"]
