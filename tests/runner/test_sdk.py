"""Which folders a runner can be built against."""

from pathlib import Path

import pytest

from etprof.core.errors import DependencyError
from etprof.runner.sdk import RUNTIME_LIBRARIES, installed_sdk, read_sdk


def make_prefix(folder: Path, libraries: tuple[str, ...] = RUNTIME_LIBRARIES) -> Path:
    (folder / "include" / "executorch").mkdir(parents=True)
    (folder / "lib" / "cmake" / "ExecuTorch").mkdir(parents=True)
    for name in libraries:
        (folder / "lib" / f"{name}.so").touch()
    return folder


def test_the_installed_wheel_is_one() -> None:
    sdk = installed_sdk()
    assert sdk.version.count(".") == 2
    assert [p.stem for p in sdk.libraries] == list(RUNTIME_LIBRARIES)
    assert all(p.is_file() for p in sdk.libraries)


def test_a_source_builds_version_is_read_where_it_says_it(tmp_path: Path) -> None:
    prefix = make_prefix(tmp_path / "prefix")
    assert read_sdk(prefix).version == "unknown"
    version = prefix / "lib" / "cmake" / "ExecuTorch" / "executorch-config-version.cmake"
    version.write_text('set(PACKAGE_VERSION "1.6.0")\n', encoding="utf-8")
    assert read_sdk(prefix).version == "1.6.0"


def test_a_folder_without_headers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DependencyError, match="has no include/executorch"):
        read_sdk(tmp_path)


def test_a_static_build_is_refused_with_the_option_to_set(tmp_path: Path) -> None:
    prefix = make_prefix(tmp_path / "static", ())
    (prefix / "lib" / "libexecutorch.a").touch()
    with pytest.raises(DependencyError, match="no shared library lib/libexecutorch") as caught:
        read_sdk(prefix)
    assert "EXECUTORCH_BUILD_SHARED" in caught.value.hint
