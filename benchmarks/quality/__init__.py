"""How good are the lists, each figure beside its peer on the same questions?

Reads the folder PRODUCTRECS_BENCH_DATA (by default ../shared/data beside the repository);
what is not there is skipped aloud. `python -m benchmarks.quality [name ...]` measures.
Further orders and sessions are read from folders `baskets_NAME` and `sessions_NAME`
there, if they exist: see `datasets.further_baskets` and `further_sessions`.
"""
