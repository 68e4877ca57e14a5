"""Entry point of `python -m productrecs`: the command line."""

from productrecs.entrypoints.cli import main

main()
