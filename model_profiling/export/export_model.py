"""The door to `etprof export`."""

import sys

from etprof.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["export", *sys.argv[1:]]))
