#!/usr/bin/env bash
# Says what this machine has for profiling and what it lacks. Takes the options of `etprof doctor`, such as --json.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
if [ ! -x "$root/.venv/bin/etprof" ]; then
  echo "error: there is no $root/.venv yet" >&2
  echo "hint: bash model_profiling/scripts/setup_repo.sh" >&2
  exit 1
fi
exec "$root/.venv/bin/etprof" doctor "$@"
