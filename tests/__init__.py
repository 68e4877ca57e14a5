"""Tests: folders mirror `src/productrecs`, plus contracts, api, trust, architecture."""
