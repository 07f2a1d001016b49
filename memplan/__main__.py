"""The command `memplan`, run as `python -m memplan`."""

import sys

from memplan.api.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
