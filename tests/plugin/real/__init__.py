"""Tests of the plugin in a real shop, which is named by the environment."""
