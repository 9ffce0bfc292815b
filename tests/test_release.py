"""A release: its notes, and that every file of it can be used and says what it contains."""

import subprocess
import sys
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import etprof
from etprof.core.errors import UsageError
from etprof.runner.build import host_target
from etprof.runner.bundle_archive import open_archive
from etprof.runner.sdk import installed_sdk
from parts import need
from real_devices import emulator
from release import archive_name, make_release, read_notes

__all__ = ["emulator"]

ROOT = Path(__file__).parents[1]


def test_the_notes_are_the_section_of_that_version() -> None:
    changelog = "# Changelog\n\n## 0.2.1 (today)\n\n- new\n\n## 0.2.0 (2026)\n\n- older\n- old\n\n## 0.1.0\n\n- first\n"
    assert read_notes(changelog, "0.2.0").startswith("# etprof 0.2.0\n\n- older\n- old\n\n## Bundles")
    assert "- first\n" in read_notes(changelog, "0.1.0")
    with pytest.raises(UsageError, match=r"CHANGELOG\.md says nothing about version 0\.2\.2"):
        read_notes(changelog, "0.2.2")


def test_the_changelog_has_a_section_about_this_version() -> None:
    assert read_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), etprof.__version__)


def test_a_folder_with_files_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "older.whl").touch()
    with pytest.raises(UsageError, match="is not empty"):
        make_release(tmp_path)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("emulator")
def test_a_release_is_complete_and_each_bundle_says_what_it_contains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(find_spec("hatchling"), "hatchling is not installed")
    need(host_target().name == "linux-x86_64", "releases are made on x86-64 Linux")
    done = subprocess.run(
        [sys.executable, "scripts/release.py", str(tmp_path / "release")], cwd=ROOT, capture_output=True, text=True,
        timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    release, version = tmp_path / "release", etprof.__version__
    bundles = {each: release / archive_name(f"linux-{each}") for each in ("arm64", "x86_64")}
    wheel, source = release / f"etprof-{version}-py3-none-any.whl", release / f"etprof-{version}.tar.gz"
    made = {*bundles.values(), wheel, source, release / "NOTES.md", release / "SHA256SUMS"}
    assert set(release.iterdir()) == made == set(map(Path, done.stdout.split()))
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=release, check=True, capture_output=True)
    with zipfile.ZipFile(wheel) as packed:
        assert f"etprof-{version}.dist-info/METADATA" in packed.namelist()
    with tarfile.open(source) as packed:
        assert f"etprof-{version}/src/etprof/runner/native/CMakeLists.txt" in packed.getnames()
    monkeypatch.setenv("ETPROF_CACHE", str(tmp_path / "cache"))
    for architecture, archive in bundles.items():
        bundle = open_archive(archive, architecture, installed_sdk().version, lambda _: None)
        table = (bundle.folder / "CONTENTS.md").read_text(encoding="utf-8")
        assert {path.name for path in (bundle.folder / "lib").iterdir()} >= {"libc.so.6", "libstdc++.so.6"}
        rows = {row.split(" | ")[0].lstrip("| "): row for row in table.splitlines() if row.startswith("| ")}
        expected = {"ExecuTorch", "XNNPACK", "GNU C library", "libstdc++", *(["KleidiAI"] * (architecture == "arm64"))}
        assert expected <= rows.keys()
        assert "Debian glibc 2." in rows["GNU C library"]
        assert "Debian gcc-" in rows["libstdc++"]
        for name in (name for row in list(rows.values())[2:] for name in row.split(" | ")[5].rstrip(" |").split(", ")):
            assert (bundle.folder / "licences" / name).stat().st_size > 1000
