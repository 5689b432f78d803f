"""`python -m paperboy` runs the console script `paperboy`."""

from paperboy.cli.main import main

main()
