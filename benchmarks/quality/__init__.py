"""How good are the lists, each figure beside its peer on the same questions?

Reads the folder PRODUCTRECS_BENCH_DATA (by default ../shared/data beside the repository);
what is not there is skipped aloud. `python -m benchmarks.quality [name ...]` measures.
"""
