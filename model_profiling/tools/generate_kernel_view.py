"""The door to `etprof kernel-view`."""

import sys

from etprof.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["kernel-view", *sys.argv[1:]]))
