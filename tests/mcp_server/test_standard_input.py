"""A server that waits for its client ends when it is told to."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "a test", "version": "1"}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.exhaustive)]
)
def test_a_waiting_server_ends(tmp_path: Path, number: int, code: int) -> None:
    """While its client stays, and says nothing."""
    with subprocess.Popen(
        [sys.executable, "-m", "etprof", "mcp"], cwd=tmp_path, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdin.write(json.dumps(HELLO) + "\n")
        server.stdin.flush()
        assert '"result"' in server.stdout.readline()
        server.send_signal(number)
        assert server.wait(60) == code
        assert "Traceback" not in server.stderr.read()
