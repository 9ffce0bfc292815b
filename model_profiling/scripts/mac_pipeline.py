"""Compatibility script: `etprof run`."""

import sys

from etprof.cli.main import main

sys.exit(main(["run", *sys.argv[1:]]))
