"""Entry point of `python -m commonplace`; does the same as the command `commonplace`."""

import sys

from commonplace.cli import main

if __name__ == "__main__":
    sys.exit(main())
