"""Entry point of `python -m productrecs`: the command line."""

from productrecs.cli.main import main

main()
