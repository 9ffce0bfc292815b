"""Compatibility script: `etprof report --format latency,statistics`."""

import sys

from etprof.cli.main import main

sys.exit(main(["report", "--format", "latency,statistics", *sys.argv[1:]]))
