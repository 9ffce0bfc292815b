"""Compatibility script: `etprof report --format latency,statistics`; of timelines, `etprof trace latency`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from model_profiling.launcher import main

if not any(word.startswith("--timeline-csv") for word in sys.argv):
    sys.exit(main(["report", "--format", "latency,statistics", *sys.argv[1:]]))
sys.exit(main(["trace", "latency", *sys.argv[1:]], several=("--timeline-csv", "--compare")))
