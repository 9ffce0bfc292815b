"""Compatibility script: `etprof trace json`."""

import sys

from etprof.cli.main import main

sys.exit(main(["trace", "json", *sys.argv[1:]]))
