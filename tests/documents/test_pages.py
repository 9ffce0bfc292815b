"""Pages that users' documents ask for: the stack, the case study, the licences."""

import re
from importlib import metadata

import pytest

import case_study
from documented_commands import ROOT

DOCS = ROOT / "docs"


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def test_the_picture_of_the_stack_names_every_layer() -> None:
    picture, page = read("docs/images/stack.svg"), read("docs/concepts/stack.md")
    for layer in ("PyTorch", "ExecuTorch", "XNNPACK", "KleidiAI", "SME2"):
        assert layer in picture
        assert f"| {layer}" in page
    # Where each number is taken.
    for file in ("export_meta.json", "metrics.json", "robust_stats.json", "ops_stats", "kernels.csv", "ETDump"):
        assert file in picture


def test_the_first_page_leads_to_the_quick_start_and_the_stack() -> None:
    page = read("docs/index.md")
    for target in ("guides/first-profile.md", "concepts/stack.md", "guides/case-study.md"):
        assert f"({target})" in page


def test_the_case_study_has_the_numbers_of_its_runs() -> None:
    shown = read("docs/guides/case-study.md").partition(case_study.BEGIN)[2].partition(case_study.END)[0]
    numbers = case_study.load_numbers()
    assert list(numbers) == ["fp32", "fp16", "INT8"]
    assert shown == case_study.render_tables(numbers), "run scripts/case_study.py --tables"
    for one in numbers.values():
        assert sum(row["candidate_share"] for row in one["categories"]) == pytest.approx(1)


def test_the_case_study_quotes_the_documents_figures_as_theirs() -> None:
    page = read("docs/guides/case-study.md")
    measured, _, quoted = page.partition("## What the documents report for SME2")
    assert "The figures are theirs" in quoted
    for figure in ("3.9x", "1.83x", "1,163 ms", "298 ms"):
        assert figure in quoted
        assert figure not in measured
    assert "not SME2 against NEON" in measured


# What the metadata of an installed package says, and what the page says.
@pytest.mark.parametrize("package", ["executorch", "torchvision", "timm", "transformers"])
def test_a_packages_licence_is_what_its_metadata_says(package: str) -> None:
    try:
        said = metadata.metadata(package)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{package} is not installed")
    family = re.match(r"Apache|BSD", said["License-Expression" if "License-Expression" in said else "License"])
    assert family
    assert family[0] in read_licences()[package]


def test_every_third_party_of_the_page_has_its_licence() -> None:
    licences = read_licences()
    assert {"edgetam", "repvit", "kleidiai", "model explorer", "xnnpack"} <= set(licences)
    assert all(re.search(r"Apache-2\.0|BSD-3-Clause|MIT\b", text) for text in licences.values())
    assert "Apache License" in read("LICENSE")
    assert "Apache License, Version 2.0" in read("docs/reference/licences.md")


def read_licences() -> dict[str, str]:
    """Project to licence, in the letters of package names."""
    rows = [line.split(" | ") for line in read("docs/reference/licences.md").splitlines() if line.startswith("| ")]
    return {row[0].strip("| ").lower(): row[3] for row in rows if row[0] not in ("| Project", "| ---")}


def test_runners_are_explained_for_every_platform() -> None:
    page = read("docs/reference/runner.md")
    for word in ("native", "Python", "executor_runner", "macOS", "android-arm64", "linux-arm64", "ANDROID_NDK"):
        assert word in page
    assert "runner" in read("docs/guides/android.md")


def test_the_readme_leads_to_the_licences() -> None:
    assert "(docs/reference/licences.md)" in read("README.md")
