"""Tests of the benchmarks' own models."""
