"""Compatibility script: `etprof report --format json,tables,statistics,console`."""

import sys

from etprof.cli.main import main

sys.exit(main(["report", "--format", "json,tables,statistics,console", *sys.argv[1:]]))
