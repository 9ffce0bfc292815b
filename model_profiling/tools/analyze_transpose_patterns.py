"""The door to `etprof transposes`."""

import sys

from etprof.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["transposes", *sys.argv[1:]]))
