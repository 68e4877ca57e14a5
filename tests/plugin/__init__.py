"""Tests of the WooCommerce plugin."""
