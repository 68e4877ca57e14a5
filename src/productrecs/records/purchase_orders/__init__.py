"""Purchase orders: goods that the merchant has ordered and that have not arrived."""
