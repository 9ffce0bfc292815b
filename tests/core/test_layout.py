"""Names of files: the first block carries the plain name, and folders are told apart by what differs."""

from pathlib import Path

import pytest

from etprof.core.layout import (
    BLOCK_SUFFIXES,
    OPS_STATS_SUFFIX,
    block_files,
    etrecord_path,
    export_debug_path,
    export_log_path,
    export_meta_path,
    graph_path,
    input_path,
    label_folders,
    pipeline_summary_name,
    run_folder,
    variant_file,
)
from etprof.core.plan import Variant
from etprof.core.runtimes import RUNTIMES

ON = Variant("on", 4)


def test_the_first_block_has_the_plain_name_and_later_ones_count_on() -> None:
    assert block_files(ON, 0).etdump == Path("on/on_t4.etdump")
    assert block_files(ON, 1).etdump == Path("on/on_t4_b2.etdump")
    assert block_files(ON, 9).outputs == Path("on/on_t4_b10.outputs")


def test_no_two_files_of_a_session_have_the_same_name() -> None:
    blocks = [
        block_files(variant, index) for variant in (ON, Variant("on", 1), Variant("off", 4)) for index in range(3)
    ]
    names = [path for files in blocks for path in vars(files).values()]
    assert len(set(names)) == len(names) == 3 * 3 * 6


def test_every_file_of_a_block_but_its_outputs_has_one_of_the_listed_suffixes() -> None:
    blocks = [block_files(ON, 0, runtime) for runtime in RUNTIMES]
    paths = [(files.result, files.etdump, files.samples, files.steps, files.log) for files in blocks]
    names = {path.name for each in paths for path in each}
    assert sorted(name.removeprefix("on_t4") for name in names) == sorted(BLOCK_SUFFIXES)
    assert len(names) == 4 + len(RUNTIMES), "each runtime has traces of its own"


def test_tables_of_a_variant_stand_beside_its_blocks() -> None:
    assert variant_file(ON, OPS_STATS_SUFFIX) == Path("on/on_t4_ops_stats.csv")
    assert pipeline_summary_name("toy", "md") == "toy_pipeline_summary.md"


def test_runs_of_an_exported_model_go_beside_its_artifacts_and_others_to_a_folder_of_their_own() -> None:
    assert run_folder(Path("out_toy/artifacts/toy.pte"), "linux") == Path("out_toy/runs/linux")
    assert run_folder(Path("somewhere/toy.pte"), "linux") == Path("out_toy/runs/linux")


def test_side_files_of_a_model_stand_beside_it() -> None:
    model = Path("a/toy_fp32.pte")
    paths = [export_meta_path(model), graph_path(model), etrecord_path(model), input_path(model, 1)]
    paths += [export_log_path(model), export_debug_path(model)]
    assert [str(path) for path in paths] == [
        "a/toy_fp32.export_meta.json",
        "a/toy_fp32.graph.json",
        "a/toy_fp32.pte.etrecord",
        "a/toy_fp32.input_1.bin",
        "a/toy_fp32.export.log",
        "a/toy_fp32.debug",
    ]


@pytest.mark.parametrize(
    ("folders", "labels"),
    [
        (["a/runs/x", "a/runs/y"], ["x", "y"]),
        (["a/runs/linux", "b/runs/linux"], ["a/runs/linux", "b/runs/linux"]),
        (["a", "a/b"], ["a", "a/b"]),
        (["a/runs/x"], ["x"]),
    ],
)
def test_folders_are_told_apart_by_what_they_do_not_share(folders: list[str], labels: list[str]) -> None:
    assert label_folders([Path(folder) for folder in folders]) == labels
