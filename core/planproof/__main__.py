"""`python -m planproof`: the command line."""

from planproof.cli import main

main()
