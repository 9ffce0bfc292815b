"""The server as an assistant meets it: in a process of its own, spoken to by the SDK's own client."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import TextContent

from etprof.cli.main import main
from etprof.export import dependencies
from etprof.export.dependencies import installed_version
from parts import need

READING = {"doctor", "list_models", "analyze", "report", "explain", "explain_model", "forecast", "history"}
RUN_DIR = "out_toy_cnn/runs/here"
Result = TypeVar("Result")


def talk(folder: Path, conversation: Callable[[Client], Awaitable[Result]], *flags: str) -> Result:
    async def run() -> Result:
        with (folder.parent / "server.log").open("a") as log:
            server = StdioServerParameters(
                command=sys.executable, args=["-m", "etprof", "mcp", "--workspace", str(folder), *flags],
                env=dict(os.environ), cwd=folder.parent,
            )  # fmt: skip
            async with Client(stdio_client(server, errlog=log), read_timeout_seconds=600) as client:
                return await conversation(client)

    return anyio.run(run)


def need_the_runtime() -> None:
    need(installed_version("torch") and installed_version("executorch"), "torch and executorch are not installed")


@dataclass(frozen=True)
class Answer:
    failed: bool
    text: str
    data: Any


def ask(folder: Path, tool: str, *flags: str, **arguments: Any) -> Answer:
    async def conversation(client: Client) -> Answer:
        return await call(client, tool, **arguments)

    return talk(folder, conversation, *flags)


async def call(client: Client, tool: str, **arguments: Any) -> Answer:
    result = await client.call_tool(tool, arguments)
    text = "".join(part.text for part in result.content if isinstance(part, TextContent))
    return Answer(bool(result.is_error), text, result.structured_content)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in which a server that may run has exported and profiled toy_cnn."""
    need_the_runtime()
    folder = tmp_path_factory.mktemp("mcp") / "workspace"
    folder.mkdir()
    told: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async def conversation(client: Client) -> tuple[Any, Any]:
        exported = await client.call_tool("export", {"model": "toy_cnn"}, progress_callback=note)
        assert not exported.is_error, exported
        model = (exported.structured_content or {})["model"]
        asked = {"model": model, "blocks": 3, "max_blocks": 3, "output_root": RUN_DIR}
        return exported, await client.call_tool("run", asked, progress_callback=note)

    exported, ran = talk(folder, conversation, "--allow-run")
    assert exported.structured_content["model"] == "out_toy_cnn/artifacts/toy_cnn_xnnpack_fp32.pte"
    assert exported.structured_content["snr_db"] > 60
    assert not ran.is_error, ran
    assert ran.structured_content["run_dir"] == RUN_DIR
    messages = [message or "" for _, _, message in told]
    assert "checking" in messages, "an export tells its stages"
    assert any("block 3" in message for message in messages), "a run tells its blocks"
    assert told[-1][:2] == (6, 6)
    return folder


def test_a_client_learns_which_tools_only_read(workspace: Path) -> None:
    async def conversation(client: Client) -> tuple[dict[str, bool | None], str]:
        tools = (await client.list_tools()).tools
        assert all(tool.description for tool in tools)
        hints = {tool.name: tool.annotations.read_only_hint if tool.annotations else None for tool in tools}
        return hints, client.instructions or ""

    hints, instructions = talk(workspace, conversation)
    assert {name for name, reads in hints.items() if reads} == READING
    assert {name for name, reads in hints.items() if not reads} == {
        "export", "run", "peaks", "self_test", "explore", "llm", "check", "fleet_devices", "fleet_run",
    }  # fmt: skip
    assert "--allow-run" in instructions


def test_a_run_made_by_the_server_is_one_like_any_other(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(workspace / RUN_DIR), "--deep"]) == 0, capsys.readouterr().out


def test_a_real_run_is_analysed_reported_and_explained(workspace: Path) -> None:
    async def conversation(client: Client) -> list[Answer]:
        return [
            await call(client, "doctor"),
            await call(client, "analyze", run_dir=RUN_DIR),
            await call(client, "report", run_dir=RUN_DIR),
            await call(client, "report", run_dir=RUN_DIR, format="json"),
            await call(client, "explain", run_dir=RUN_DIR, subject="verdict"),
            await call(client, "explain", run_dir=RUN_DIR, subject="transpose"),
            await call(client, "explain_model", path=RUN_DIR),
        ]

    before = sorted(path for path in workspace.rglob("*"))
    doctor, analysis, markdown, as_json, verdict, operator, layers = answers = talk(workspace, conversation)
    assert not any(answer.failed for answer in answers)
    assert "torch" in {check["name"] for check in doctor.data["checks"]}
    assert len(analysis.data["variants"]) == 2
    for variant in analysis.data["variants"]:
        assert variant["median_ms"] > 0
        assert sum(variant["categories"].values()) == pytest.approx(1, abs=0.001)
    assert markdown.text.startswith("# toy")
    assert json.loads(as_json.text)["schema_version"] == 3
    assert analysis.data["verdicts"][0] in verdict.text
    assert "Transpose (ND, X32) #1" in operator.text
    assert "3x3 convolution, fp32" in layers.text
    assert sorted(path for path in workspace.rglob("*")) == before, "reading writes nothing"


def test_without_leave_nothing_is_exported_or_run(workspace: Path) -> None:
    for tool, arguments in (("export", {"model": "toy_cnn"}), ("run", {"model": "x.pte"}), ("self_test", {})):
        refused = ask(workspace, tool, **arguments)
        assert refused.failed
        assert "This server only reads. Hint: start it with `etprof mcp --allow-run`." in refused.text


@pytest.mark.parametrize("flags", [(), ("--allow-run",)])
def test_a_model_folder_is_listed_without_being_executed(tmp_path: Path, flags: tuple[str, ...]) -> None:
    need_the_runtime()
    folder = tmp_path / "workspace" / "model_profiling" / "models" / "mine"
    folder.mkdir(parents=True)
    (folder / "model.py").write_text("from pathlib import Path\nPath('executed').touch()\n")
    listed = ask(tmp_path / "workspace", "list_models", *flags).data["models"]
    assert {"name": "mine", "origin": "models folder", "status": "not inspected"} in listed
    assert {"name": "toy_cnn", "origin": "etprof", "status": "ready"} in listed
    assert {"name": "add", "origin": "executorch wheel", "status": "ready"} in listed
    assert not (tmp_path / "workspace" / "executed").exists()


def test_no_path_leads_out_of_the_workspace(workspace: Path) -> None:
    outside = workspace.parent / "outside"
    shutil.copytree(workspace / RUN_DIR, outside)
    (workspace / "link").symlink_to(outside)

    async def conversation(client: Client) -> list[Answer]:
        paths = ("../outside", str(outside), "link", f"{RUN_DIR}/../../../../outside")
        reading = [await call(client, "analyze", run_dir=path) for path in paths]
        model = "out_toy_cnn/artifacts/toy_cnn_xnnpack_fp32.pte"
        return [
            *reading,
            await call(client, "export", model="toy_cnn", outdir="../stolen"),
            await call(client, "run", model="../outside/x.pte"),
            await call(client, "run", model=model, output_root="link/runs"),
            await call(client, "run", model=model, workload="../outside/workload.json"),
            await call(client, "explore", model="toy_cnn", output_root="link/runs"),
            await call(client, "llm", model="../outside/x.pte"),
            await call(client, "llm", model=model, output_root="link/runs"),
        ]

    for answer in talk(workspace, conversation, "--allow-run"):
        assert answer.failed
        assert "outside of the workspace" in answer.text
    assert not (workspace.parent / "stolen").exists()
    (workspace / "link").unlink()


@pytest.mark.exhaustive
def test_builds_race_in_the_workspace(workspace: Path) -> None:
    async def conversation(client: Client) -> Answer:
        asked = {"dtypes": "fp32", "schemes": "none", "threads": "1", "budget": "20s", "output_root": "explored"}
        return await call(client, "explore", model="toy_cnn", **asked)

    answer = talk(workspace, conversation, "--allow-run")
    assert not answer.failed, answer.text
    assert answer.data["verdicts"][0].startswith("Fastest and smallest: fp32, 1 thread, ")
    assert answer.data["run_dir"] == "explored"


def test_a_mistake_comes_back_as_a_tools_error_with_its_hint(workspace: Path) -> None:
    async def conversation(client: Client) -> list[Answer]:
        return [
            await call(client, "analyze", run_dir="out_toy_cnn"),
            await call(client, "explain", run_dir=RUN_DIR, subject="convolutoin"),
            await call(client, "report", run_dir=RUN_DIR, format="pdf"),
            await call(client, "doctor"),
        ]

    no_run, no_subject, no_format, fine = talk(workspace, conversation)
    assert "manifest.json. Hint: " in no_run.text
    assert "Did you mean 'Convolution'" in no_subject.text
    assert "Known formats: console, md, html, json, csv, trace, model-explorer." in no_format.text
    assert [a.failed for a in (no_run, no_subject, no_format, fine)] == [True, True, True, False]


def test_standard_output_holds_the_protocol_and_nothing_else(tmp_path: Path) -> None:
    need_the_runtime()
    folder = tmp_path / "model_profiling" / "models" / "loud"
    folder.mkdir(parents=True)
    (folder / "model.py").write_text("import os\nprint('loud')\nos.write(1, b'louder\\n')\nos.system('echo loudest')\n")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "export", "arguments": {"model": "loud"}},
        },
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "etprof", "mcp", "--allow-run"], cwd=tmp_path, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        for message in messages:
            server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()
        lines = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
        lines += [json.loads(line) for line in server.stdout]
        assert server.wait(timeout=60) == 0
    assert [line["id"] for line in lines] == [1, 2]
    assert "register_model" in json.dumps(lines[1]), "the model's code was executed"


def test_without_the_sdk_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dependencies, "installed_version", lambda name: None)
    assert main(["mcp"]) == 1
    text = capsys.readouterr()
    assert "`etprof mcp` needs mcp" in text.err
    assert 'Run: pip install "mcp' in text.err
    assert text.out == ""


def test_a_workspace_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--workspace", "none"]) == 2
    assert "There is no folder none" in capsys.readouterr().err


@pytest.mark.exhaustive
def test_an_assistant_is_told_what_works_here_and_what_to_do(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    answer = ask(workspace, "self_test", "--allow-run")
    assert not answer.failed
    checks = {check["name"]: check for check in answer.data["checks"]}
    assert (answer.data["passed"], checks["runner"]["outcome"], checks["sampling"]["outcome"]) == (
        False, "fail", "not here",
    )  # fmt: skip
    assert "Install g++" in checks["runner"]["hint"]
