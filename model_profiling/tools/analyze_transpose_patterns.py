"""Compatibility script: `etprof trace transposes`."""

import sys

from etprof.cli.main import main

sys.exit(main(["trace", "transposes", *sys.argv[1:]]))
