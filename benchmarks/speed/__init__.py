"""How fast is the service, each figure beside a bare prototype of the same step?

Everything stays on this machine: servers listen on loopback, and every run is bounded in
requests and seconds. `python -m benchmarks.speed [name ...]` measures.
"""
