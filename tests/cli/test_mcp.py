"""`etprof mcp`: what it needs before it can serve; tests/mcp_server talks to the server."""

import pytest

from etprof.cli.main import main
from etprof.export import dependencies


def test_without_the_sdk_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dependencies, "installed_version", lambda name: None)
    assert main(["mcp"]) == 1
    said = capsys.readouterr().err
    assert "error: `etprof mcp` needs mcp" in said
    assert "hint: Run: pip install" in said
