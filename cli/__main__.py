"""`python -m cli` is `palimpsest`."""

from cli.main import main

main()
