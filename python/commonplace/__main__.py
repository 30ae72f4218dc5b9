"""Entry point of `python -m commonplace`, the command `commonplace`."""

import sys

from commonplace.cli import main

if __name__ == "__main__":
    sys.exit(main())
