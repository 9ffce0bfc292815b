#!/usr/bin/env bash
# Builds the one runner that shows and hides SME2. Takes the options of `etprof runner build`, such as --target.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
if [ ! -x "$root/.venv/bin/etprof" ]; then
  echo "error: there is no $root/.venv yet" >&2
  echo "hint: bash model_profiling/scripts/setup_repo.sh" >&2
  exit 1
fi
[ $# -gt 0 ] || set -- --executor-scripts "$root/executorch/cmake-out"
exec "$root/.venv/bin/etprof" runner build "$@"
