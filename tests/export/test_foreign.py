"""Other people's output goes to the log, other people's errors become one sentence."""

import importlib.util
import logging
import os
import sys
import warnings
from pathlib import Path

import pytest

from etprof.core.errors import ExportError, UsageError
from etprof.export.foreign import foreign_code, output_to


def test_everything_that_is_printed_goes_to_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    with output_to(log):
        print("from python")  # noqa: T201
        print("from python too", file=sys.stderr)  # noqa: T201
        os.write(2, b"from a C library\n")
        warnings.warn("a warning", DeprecationWarning, stacklevel=1)
        logging.getLogger("some.library").warning("a log line")
    text = log.read_text()
    for words in ("from python", "from python too", "from a C library", "a warning", "a log line"):
        assert words in text
    assert capfd.readouterr() == ("", "")


def test_afterwards_output_is_where_it_was(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), output_to(tmp_path / "log"):
        raise ZeroDivisionError
    os.write(2, b"visible\n")
    print("visible too")  # noqa: T201
    assert capfd.readouterr() == ("visible too\n", "visible\n")


def test_a_foreign_failure_becomes_one_sentence() -> None:
    with (
        pytest.raises(ExportError, match=r"^Lowering failed: AssertionError: first \(") as caught,
        foreign_code("Lowering"),
    ):
        raise AssertionError("\nfirst\nsecond")
    assert isinstance(caught.value.__cause__, AssertionError)


def test_a_failure_names_the_innermost_line_of_the_users_own_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a line of a library, nor one of ours."""
    monkeypatch.chdir(tmp_path)
    Path("their_net.py").write_text("import json\n\n\ndef forward(x):\n    return json.loads(x)\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("their_net", tmp_path / "their_net.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(ExportError) as caught, foreign_code("Capturing"):
        module.forward("{")
    assert caught.value.message.endswith(" (their_net.py, line 5: return json.loads(x))")


def test_our_own_errors_pass_unchanged() -> None:
    with pytest.raises(UsageError, match=r"^ours$"), foreign_code("Lowering"):
        raise UsageError("ours")


def test_an_interrupt_is_no_failure() -> None:
    with pytest.raises(KeyboardInterrupt), foreign_code("Lowering"):
        raise KeyboardInterrupt
