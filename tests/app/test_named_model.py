"""What is said of a model that is not there: the files that may have been meant."""

from pathlib import Path

import pytest

from etprof.app.named_model import require_model
from etprof.core.errors import UsageError


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("out_unet/artifacts/unet_fp23.pte", "Did you mean 'unet_fp32.pte'"),
        ("unet_fp32.pte", "Exported here: out_unet/artifacts/unet_fp32.pte."),
        ("out_unet/artifacts", "Name the file: out_unet/artifacts/unet_fp32.pte"),
        ("plan.json", "etprof run plan.json"),
    ],
)
def test_the_hint_names_what_is_there(
    typed: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    artifacts = tmp_path / "out_unet/artifacts"
    artifacts.mkdir(parents=True)
    (artifacts / "unet_fp32.pte").write_bytes(b"model")
    (tmp_path / "plan.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        require_model(Path(typed))
    assert expected in caught.value.hint


def test_without_any_export_the_hint_is_to_make_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        require_model(Path("mine.pte"))
    assert "etprof export" in caught.value.hint
