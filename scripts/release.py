"""Makes a release: wheel, source archive, bundles for arm64 and x86-64, notes, checksums. Run it as `make release`."""

import re
import subprocess
import sys
from pathlib import Path

import etprof
from bundle_contents import ROOT, build_files, list_parts
from etprof.core.digest import file_sha256
from etprof.core.errors import EtprofError, UsageError
from etprof.export.dependencies import executorch_commit
from etprof.runner.bundle import ensure_bundle, find_c_libraries
from etprof.runner.bundle_archive import CHECKSUMS, pack
from etprof.runner.cross import resolve_parts

TARGETS = ("linux-arm64", "linux-x86_64")
NOTES = "NOTES.md"
_BUNDLES = """
## Bundles

`{name}` is a runner with its libraries for devices with that CPU. On a machine without a cross compiler:
`etprof run --device ssh:USER@HOST --runner-bundle FILE`. Keep `SHA256SUMS` beside it, and it is checked;
`sha256sum --check SHA256SUMS` checks all files. Each bundle has the licences of what it contains.
"""


def read_notes(changelog: str, version: str) -> str:
    """The section of the changelog about this version."""
    found = re.search(rf"^## {re.escape(version)}\b[^\n]*\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    if not found or not found[1].strip():
        raise UsageError(f"CHANGELOG.md says nothing about version {version}.", hint=f"Add a section: ## {version}")
    return f"# etprof {version}\n\n{found[1].strip()}\n" + _BUNDLES.format(name=archive_name("CPU"))


def archive_name(target: str) -> str:
    return f"etprof-runner-{etprof.__version__}-{target}.tar.gz"


def make_release(folder: Path) -> list[Path]:
    """Writes all files of a release into a folder, which must be empty or new."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty.", hint="Remove it, or name another folder.")
    notes = read_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), etprof.__version__)
    command = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--target", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)
    for target in TARGETS:
        _pack_bundle(target, folder / archive_name(target))
    (folder / NOTES).write_text(notes, encoding="utf-8")
    made = sorted(folder.iterdir())
    (folder / CHECKSUMS).write_text("".join(f"{file_sha256(f)}  {f.name}\n" for f in made), encoding="utf-8")
    return [*made, folder / CHECKSUMS]


def _pack_bundle(target_name: str, archive: Path) -> None:
    sdk, compiler, target = resolve_parts(target_name, None, None, _say)
    bundle = ensure_bundle(sdk, compiler, target, progress=_say)
    libraries = find_c_libraries(compiler, target.architecture)
    parts = list_parts(target.architecture, libraries, sdk.version, executorch_commit())
    pack(bundle, archive, build_files(parts))


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else f"dist/etprof-{etprof.__version__}")
    try:
        made = make_release(folder)
    except EtprofError as error:
        _say(f"error: {error.message}\nhint: {error.hint}")
        return error.exit_code
    sys.stdout.write("".join(f"{path}\n" for path in made))
    return 0


if __name__ == "__main__":
    sys.exit(main())
