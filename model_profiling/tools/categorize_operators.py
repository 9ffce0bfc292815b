"""The door to `etprof categories`."""

import sys

from etprof.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["categories", *sys.argv[1:]]))
