"""`import etprof`: quick, complete, documented, and the same for type checkers and at run time."""

import ast
import inspect
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import etprof
from etdump_builder import Event, build_etdump

ROOT = Path(__file__).parents[2]
HEAVY = {"numpy", "scipy", "pydantic", "rich", "typer", "jinja2", "capstone", "torch", "executorch", "pandas", "polars"}
# Of the command line: what has another form in Python, what is its own affair, and what `load_run` is for.
COMMANDS = {
    "check": {
        "context", "run_dir", "new", "against", "against_history", "tolerance", "summary", "history", "dry_run",
        "no_wait",
    },
    "profile": {"model", "dry_run", "write_plan", "history", "no_wait"},
    "explore": {"model", "history", "no_wait"},
    "llm": {"model", "history", "no_wait", "dry_run", "log", "wide", "as_csv", "as_json"},
    "run_plan": {"history", "no_wait", "plan_file", "config", "remote_device", "analysis_only", "dry_run", "verbose"},
    "export": {
        "model_option", "quantize", "quant_scheme", "quant_granularity", "weight_bits", "group_size", "calibration",
        "export_all", "models", "dtypes", "schemes", "verbose",
    },
}  # fmt: skip


def loaded_after(code: str, *arguments: str) -> set[str]:
    """The packages that a new process has loaded once the code has run."""
    show = "import json, sys\nprint(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{show}", *arguments], capture_output=True, text=True, timeout=60, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_import_loads_nothing_heavy() -> None:
    assert not loaded_after("import etprof\ndir(etprof)\nassert etprof.__version__") & HEAVY
    assert "typing" not in loaded_after("import etprof") - loaded_after("")


def test_what_users_models_need_loads_nothing_heavy() -> None:
    assert not loaded_after("from etprof import EagerModelBase, register_model, EtprofError") & HEAVY


def test_a_trace_is_read_with_numpy_alone(tmp_path: Path) -> None:
    path = tmp_path / "one.etdump"
    path.write_bytes(build_etdump([("Execute", [Event("Method::execute", 0, 10)])]))
    code = "import etprof, sys\ntrace = etprof.read_trace(sys.argv[1])\ntrace.operators()\ntrace.categories()"
    assert loaded_after(code, str(path)) & HEAVY == {"numpy"}


def test_every_public_name_is_there_and_documented() -> None:
    guide = (ROOT / "docs/guides/python.md").read_text(encoding="utf-8")
    for name in etprof.__all__:
        assert getattr(etprof, name) is not None
        assert f"`{name}" in guide or f"`etprof.{name}" in guide, f"{name} is not in the guide"


def test_completion_offers_the_public_names_and_nothing_else() -> None:
    assert dir(etprof) == sorted(etprof.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'etprof' has no attribute 'profil'"):
        getattr(etprof, "profil")  # noqa: B009 - a type checker knows better


def test_type_checkers_and_python_find_each_name_in_the_same_module() -> None:
    tree = ast.parse(Path(etprof.__file__).read_text(encoding="utf-8"))
    (branch,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in branch.body if isinstance(node, ast.ImportFrom)]
    declared = {alias.name: node.module for node in imports for alias in node.names}
    assert sorted(declared) == sorted(set(etprof.__all__) - {"__version__"})
    for name, module in declared.items():
        assert module is not None
        assert getattr(etprof, name) is getattr(import_module(module), name)


@pytest.mark.parametrize(
    "code",
    [
        "import etprof.export.registry, etprof",
        "import etprof\netprof.export\nimport etprof.export.registry",
        "from etprof.export import registry\nimport etprof",
    ],
)
def test_export_is_the_function_though_a_subpackage_has_its_name(code: str) -> None:
    loaded_after(f"{code}\nfrom etprof import export\nassert export is etprof.export\nassert callable(export)")


@pytest.mark.parametrize("name", COMMANDS)
def test_options_have_the_names_and_defaults_of_the_command_line(name: str) -> None:
    module = import_module(f"etprof.cli.{'run' if name == 'run_plan' else name}")
    ours = {each.name: each.default for each in inspect.signature(getattr(etprof, name)).parameters.values()}
    theirs = {each.name: each.default for each in inspect.signature(module.command).parameters.values()}
    for option in theirs.keys() - COMMANDS[name]:
        # A list that may be left out, and what a program can be given in place of a terminal's patience.
        expected = {"only": (), "model": inspect.Parameter.empty}.get(option, theirs[option])
        expected = 1 if (option, expected) == ("threads", "1") else expected
        assert ours[option] == expected, option
