"""Compatibility script: `etprof trace timeline`."""

import sys

from etprof.cli.main import main

sys.exit(main(["trace", "timeline", *sys.argv[1:]]))
