"""Compatibility script: `etprof report`."""

import sys

from etprof.cli.main import main

sys.exit(main(["report", *sys.argv[1:]]))
