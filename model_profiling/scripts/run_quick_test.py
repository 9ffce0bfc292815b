"""Compatibility script: `etprof quickstart`."""

import sys

from etprof.cli.main import main

sys.exit(main(["quickstart", *sys.argv[1:]]))
