"""The door to `etprof ops-json`."""

import sys

from etprof.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["ops-json", *sys.argv[1:]]))
