#!/usr/bin/env bash
# Exports every model of model_profiling/models. Takes the options of `etprof export --all`, such as --dtypes fp16.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
if [ ! -x "$root/.venv/bin/etprof" ]; then
  echo "error: there is no $root/.venv yet" >&2
  echo "hint: bash model_profiling/scripts/setup_repo.sh" >&2
  exit 1
fi
exec "$root/.venv/bin/etprof" export --all --models-dir "$root/model_profiling/models" "$@"
