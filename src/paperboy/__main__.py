"""`python -m paperboy` is the console script `paperboy`."""

from paperboy.cli.main import main

main()
