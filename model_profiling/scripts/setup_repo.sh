#!/usr/bin/env bash
# Makes .venv with everything pinned, ExecuTorch's wheel included; there is nothing to clone and nothing to compile.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
"$root/scripts/install" "$root/.venv" runtime
exec "$root/.venv/bin/etprof" doctor
