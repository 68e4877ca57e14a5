"""What `python -m productrecs` runs."""

from productrecs.entrypoints.cli import main

main()
