"""Compatibility script: `etprof trace categories`."""

import sys

from etprof.cli.main import main

sys.exit(main(["trace", "categories", *sys.argv[1:]]))
