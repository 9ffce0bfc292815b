"""Compatibility script: `etprof doctor`."""

import sys

from etprof.cli.main import main

sys.exit(main(["doctor", *sys.argv[1:]]))
