#!/usr/bin/env bash
# Builds the one runner that shows and hides SME2. Takes the options of `etprof runner build`, such as --target.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
if [ ! -x "$root/.venv/bin/etprof" ]; then
  echo "error: there is no $root/.venv yet" >&2
  echo "hint: bash model_profiling/scripts/setup_repo.sh" >&2
  exit 1
fi
[ $# -eq 0 ] || exec "$root/.venv/bin/etprof" runner build "$@"
echo "built, for this machine:"
"$root/.venv/bin/etprof" runner build --executor-scripts "$root/executorch/cmake-out"
# Where ExecuTorch's own build_android_library.sh installs to, in a checkout here.
libraries=executorch/cmake-out-android-arm64-v8a
if [ -n "${ANDROID_NDK:-}" ] && [ -d "$root/$libraries/include/executorch" ]; then
  echo "built, for Android with $ANDROID_NDK:"
  cd "$root"
  exec .venv/bin/etprof runner build --target android-arm64
fi
echo "skipped, for Android: \`etprof run --device android\` builds and pushes a runner by itself, without an NDK."
if [ -n "${ANDROID_NDK:-}" ]; then
  echo "With ExecuTorch's shared libraries for Android in $libraries, this script builds a runner with $ANDROID_NDK too."
fi
