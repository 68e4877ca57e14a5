"""Last-touch attribution: which carts and sales followed a recommendation."""
