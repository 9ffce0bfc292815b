"""Compatibility script: `etprof validate`."""

import sys

from etprof.cli.main import main

sys.exit(main(["validate", *sys.argv[1:]]))
