"""What CONTRIBUTING.md promises about additions: each is made in a copy of the package, and works from there."""

import difflib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import ROOT
from etprof.app.reporting import analyze, write_report
from etprof.core.plan import Plan
from scripted_device import a_runnable_plan, copy_run, run_scripted
from trace_builder import DATA

PACKAGE = ROOT / "src" / "etprof"


@dataclass(frozen=True)
class Tree:
    """A copy of the package that may be changed, and is used in place of the installed one."""

    folder: Path

    @property
    def package(self) -> Path:
        return self.folder / "src" / "etprof"

    def add_line(self, file: str, line: str, *, before: str) -> None:
        """Puts one line, or one entry of a table, before the only one that begins like this."""
        path = self.package / file
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1, (file, before)
        path.write_text(text.replace(before, f"{line}\n{before}"), encoding="utf-8")

    def replace_line(self, file: str, old: str, new: str) -> None:
        path = self.package / file
        text = path.read_text(encoding="utf-8")
        assert text.count(f"{old}\n") == 1, (file, old)
        path.write_text(text.replace(f"{old}\n", f"{new}\n"), encoding="utf-8")

    def changes(self) -> dict[str, int]:
        """The files that differ from the package's own, and how many lines were added to each."""
        found = {}
        for path in sorted(self.package.rglob("*.py")):
            name = path.relative_to(self.package).as_posix()
            original = PACKAGE / name
            before = original.read_text(encoding="utf-8").splitlines() if original.exists() else []
            lines = difflib.ndiff(before, path.read_text(encoding="utf-8").splitlines())
            if added := sum(line.startswith("+ ") for line in lines):
                found[name] = added
        return found

    def python(self, *arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(self.folder / "src"), "COLUMNS": "160"}
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def etprof(self, *arguments: str) -> str:
        return self.python("-m", "etprof", *arguments)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path / "tree")
    shutil.copytree(PACKAGE, made.package, ignore=shutil.ignore_patterns("__pycache__"))
    assert str(made.package) in made.python("-c", "import etprof; print(etprof.__file__)")
    return made


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A run that was measured and reported before anything was added."""
    plan = a_runnable_plan(tmp_path_factory.mktemp("reported"), blocks=3)
    run_scripted(plan)
    write_report(analyze(plan.output_root), formats=("md", "json"))
    return plan


@pytest.fixture
def run(reported: Plan, tmp_path: Path) -> Path:
    return copy_run(reported, tmp_path / "older").output_root


FORMAT = '''"""The report as one line for each variant."""

from etprof.core.report import Report


def render(report: Report) -> str:
    return "".join(f"{variant.label}: {variant.runner}\\n" for variant in report.variants)
'''


def test_a_report_format_is_one_file_and_one_line(tree: Tree, run: Path) -> None:
    (tree.package / "reports" / "lines.py").write_text(FORMAT, encoding="utf-8")
    tree.add_line("reports/__init__.py", '    "lines": Format("report.lines", "lines"),', before='    "trace": Format(')
    assert tree.changes() == {"reports/__init__.py": 1, "reports/lines.py": len(FORMAT.splitlines())}
    # The run was finished before there was such a format, and is as whole as it was.
    tree.etprof("validate", str(run), "--deep")
    assert "lines" in tree.etprof("report", "--help")
    assert str(run / "report.lines") in tree.etprof("report", str(run), "--format", "lines")
    text = "off, 1 thread: native\non, 1 thread: native\n"
    assert (run / "report.lines").read_text() == text
    tree.etprof("report", str(run), "--out", str(tree.folder / "mine.lines"))
    assert (tree.folder / "mine.lines").read_text() == text
    # Without a format all are written, and from now on the run needs each of them.
    (run / "report.lines").unlink()
    tree.etprof("report", str(run), "--quiet")
    assert (run / "report.lines").read_text() == text
    assert '"report.lines"' in (run / "manifest.json").read_text()
    tree.etprof("validate", str(run))


def test_an_operator_category_is_one_row_and_a_rule(tree: Tree, run: Path) -> None:
    row = '    Part("Shuffling", "Elements change places.", "#f0e442", _DARK),'
    tree.add_line("core/categories.py", row, before="    Part(OTHER,")
    rule = r'    Rule(r"^Transpose \(", "Shuffling", "transpose"),'
    tree.add_line("core/categories.py", rule, before='    Rule(r"^Pack LH')
    assert tree.changes() == {"core/categories.py": 2}
    tree.etprof("report", str(run), "--quiet")
    assert "| Shuffling | 1.20 ms | 30.0 % |" in (run / "report.md").read_text()
    assert "Shuffling" in (run / "on/on_t1_category_summary.csv").read_text()
    page = (run / "report.html").read_text()
    assert 'style="background:#f0e442"></span>Shuffling' in page
    assert 'fill="#f0e442"' in page, "in the charts as well"
    assert "Shuffling" in tree.etprof("trace", "categories", str(run / "on"))
    explained = tree.python(
        "-c",
        "import sys; from pathlib import Path; from etprof.app.reporting import analyze; "
        "from etprof.reports import explanation; "
        "print(explanation.render(analyze(Path(sys.argv[1])).report, 'shuffling'))",
        str(run),
    )
    assert explained.startswith(
        "Shuffling: Elements change places.\noff, 1 thread: 1.20 ms (30.0 %) of each traced inference"
    )


RULE = '''"""Every operator is too much."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Match, Rule


def _find(facts: Facts) -> Iterator[Match]:
    yield Match(title="Do nothing", reason="Everything takes time.", operators=facts.operators)


RULE = Rule(
    id="do-nothing",
    title="A model that does something",
    looks_at="every operator",
    bound="the time of all of them",
    advice="Leave them out.",
    snippet="pass",
    find=_find,
)
'''


def test_a_rule_of_advice_is_one_file(tree: Tree, run: Path) -> None:
    (tree.package / "analysis/advice/rules/do_nothing.py").write_text(RULE, encoding="utf-8")
    assert tree.changes() == {"analysis/advice/rules/do_nothing.py": len(RULE.splitlines())}
    tree.etprof("report", str(run), "--quiet")
    assert "**Do nothing**: at most" in (run / "report.md").read_text()
    assert '"rule": "do-nothing"' in (run / "analysis_summary.json").read_text()
    assert "Saves at most: the time of all of them." in tree.etprof("explain", "--rule", "do-nothing")


UPGRADE = """def upgrade_to_{version}(manifest: dict[str, Any], _metrics: dict[str, Any]) -> None:
    manifest["site"] = "unknown"


"""


def test_a_stored_field_is_a_field_a_version_and_an_upgrade(tree: Tree, run: Path, tmp_path: Path) -> None:
    version = int(
        tree.python("-c", "from etprof.store.upgrades import SCHEMA_VERSION as version; print(version)").strip()
    )
    tree.add_line("core/run.py", '    site: str = ""', before="    reports: tuple[str, ...] = ()")
    upgrades = "store/upgrades.py"
    tree.replace_line(upgrades, f"SCHEMA_VERSION = {version}", f"SCHEMA_VERSION = {version + 1}")
    tree.add_line(upgrades, UPGRADE.format(version=version + 1), before="UPGRADES: dict[")
    tree.replace_line(
        upgrades, f"    {version}: upgrade_to_{version},",
        f"    {version}: upgrade_to_{version},\n    {version + 1}: upgrade_to_{version + 1},",
    )  # fmt: skip
    assert set(tree.changes()) == {"core/run.py", upgrades}
    first = shutil.copytree(DATA / "sessions" / "v1", tmp_path / "v1")
    for folder in (run, first):
        read = "import sys; from pathlib import Path; from etprof.store.session_file import load_session, save_session;"
        read += "folder = Path(sys.argv[1]); session = load_session(folder); save_session(folder, session);"
        read += "assert load_session(folder) == session; print(session.site, len(session.results))"
        results = {run: 6, first: 2}[folder]
        assert tree.python("-c", read, str(folder)).strip() == f"unknown {results}"
        assert f'"schema_version": {version + 1}' in (folder / "manifest.json").read_text()
    tree.etprof("validate", str(run), "--deep")
    tree.etprof("report", str(run), "--quiet")


def test_a_runtime_is_one_row_and_the_modules_that_it_names(tree: Tree) -> None:
    row = (
        '    "mirror": Runtime("Mirror", ".mirror", ".mirrored", "onnx_program", "onnxruntime_runner", ("no_mirror",)),'
    )
    tree.add_line("core/runtimes.py", row, before="    ONNXRUNTIME: Runtime(")
    assert tree.changes() == {"core/runtimes.py": 1}
    plan = {"model": "a.pte", "output_root": "out", "experiments": [{"name": "a", "runtime": "mirror"}]}
    code = f"from etprof.store.plan_file import build_plan\nplan = build_plan({plan!r}, 'a plan')\n"
    code += "from etprof.app.runtimes import require_runtime\nfrom etprof.core.errors import DependencyError\n"
    code += "try:\n    require_runtime(plan.program('a').runtime)\nexcept DependencyError as error:\n    print(error)"
    assert "Running a model with Mirror needs no_mirror (not installed)." in tree.python("-c", code)
    assert "no no_mirror" in tree.etprof("doctor")
