"""The door to `etprof timeline`."""

import sys

from etprof.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["timeline", *sys.argv[1:]]))
