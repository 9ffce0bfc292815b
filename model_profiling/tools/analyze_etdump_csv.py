"""Compatibility script: `etprof trace operators`."""

import sys

from etprof.cli.main import main

sys.exit(main(["trace", "operators", *sys.argv[1:]]))
