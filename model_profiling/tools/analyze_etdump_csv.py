"""The door to `etprof operators`."""

import sys

from etprof.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["operators", *sys.argv[1:]]))
