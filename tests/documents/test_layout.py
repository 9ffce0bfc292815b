"""The page of the repository's layout is true of the repository."""

import re
from pathlib import Path

from documented_commands import ROOT

PAGE = (ROOT / "docs/reference/layout.md").read_text(encoding="utf-8")
# Weights and programs, which are fetched or made.
LARGE = (".pte", ".pt", ".pth", ".safetensors")


def first_cells(text: str) -> list[str]:
    return [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| `")]


def test_every_place_of_the_page_exists() -> None:
    places = re.findall(r"`([^`]+)`", " ".join(first_cells(PAGE.partition("## What the commands create")[0])))
    assert len(places) > 12
    assert [place for place in places if not (ROOT / place).exists()] == []
    assert not (ROOT / "model_profiling/pipeline").exists(), "the page says that the package takes its place"


def test_every_folder_of_the_repository_is_on_the_page() -> None:
    ignored = {".git", ".ci", *(line.strip("/") for line in read_ignored())}
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("out_")} - ignored
    assert {name for name in folders if f"`{name}/" not in PAGE} == set()


# Below model_profiling, by the names that users' documents have.
OLDER_KIT = (
    "configs/examples/android_mobilenet_fp16.json", "configs/examples/mac_mobilenet_fp16.json",
    "configs/examples/mac_trace.json", "configs/templates/android_template.json", "configs/templates/mac_template.json",
    "export/EXPORT_COMMANDS.md", "export/export_model.py", "models/__init__.py", "models/model_base.py",
    "pipeline_commands.md", "scripts/analyze_results.py", "scripts/android_pipeline.py", "scripts/build_runners.sh",
    "scripts/generate_report.py", "scripts/mac_pipeline.py", "scripts/readme.md", "scripts/run_quick_test.py",
    "scripts/setup_repo.sh", "scripts/validate_results.py", "tools/analyze_etdump_csv.py",
    "tools/analyze_transpose_patterns.py", "tools/categorize_operators.py", "tools/etdump_to_csv.py",
    "tools/etdump_to_ops_json.py", "tools/generate_kernel_view.py", "tools/robust_latency_analysis.py",
    "tools/xnntrace_to_kernels.py",
)  # fmt: skip


def test_every_file_that_users_documents_name_is_there() -> None:
    assert [name for name in OLDER_KIT if not (ROOT / "model_profiling" / name).is_file()] == []


def test_plans_are_committed() -> None:
    table = PAGE.partition("| Commit | Why |")[2].partition("| Do not commit |")[0]
    assert "\n| plans | " in table
    plans = [path.relative_to(ROOT) for path in (ROOT / "model_profiling/configs").rglob("*.json")]
    assert len(plans) > 5
    for pattern in (line.strip("/") for line in read_ignored() if not line.startswith("#")):
        assert not any(plan.match(pattern) or pattern in plan.parts for plan in plans), pattern


def test_what_is_fetched_or_made_is_not_committed() -> None:
    table = PAGE.partition("| Do not commit | Instead |")[2]
    named = re.findall(r"`([^`]+)`", " ".join(line.split(" | ")[0] for line in table.splitlines()))
    assert set(named) >= {"out_*/", ".venv/", "executorch/", "*.pte", "*.safetensors"}
    ignored = {line.lstrip("/") for line in read_ignored()}
    assert [name for name in named if name not in ignored and name != "*.etdump"] == []
    kept = [path for folder in ("src", "docs", "tests/data", "model_profiling/models") for path in walk(ROOT / folder)]
    # The self-test has two programs of its own, so that it needs no torch.
    shipped = ROOT / "src/etprof/app/reference_models"
    assert [path for path in kept if path.suffix in LARGE and path.parent != shipped] == []
    assert sum(path.stat().st_size for path in shipped.iterdir() if path.is_file()) < 200_000


def read_ignored() -> list[str]:
    return (ROOT / ".gitignore").read_text(encoding="utf-8").split()


def walk(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if not any(part.startswith("out_") for part in path.parts)]
