"""Compatibility script: `etprof export`."""

import sys

from etprof.cli.main import main

sys.exit(main(["export", *sys.argv[1:]]))
