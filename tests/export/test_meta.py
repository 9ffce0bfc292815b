"""The facts about an export are read back as they were written; a damaged file is refused in one sentence."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import etprof
from builders import an_export_meta
from etprof.core.digest import file_sha256
from etprof.core.errors import StoreError
from etprof.core.layout import etrecord_path, export_meta_path, input_path
from etprof.core.model import (
    Artifact,
    Calibration,
    Delegation,
    ExportedFile,
    ExportMeta,
    LeftOperator,
    Numerics,
    OutputNumerics,
    TensorFile,
    TensorInfo,
    Weights,
)
from etprof.export.meta import build_meta, find_reusable, load_meta, save_meta
from etprof.export.request import ExportRequest, Quantization

VERSIONS = {"torch": "2.13.0", "torchvision": None}
SOURCE = "2" * 64


@pytest.fixture
def pte(tmp_path: Path) -> Path:
    return tmp_path / "net_xnnpack_fp32.pte"


def test_every_fact_is_read_back_as_it_was_written(pte: Path) -> None:
    meta = an_export_meta(
        versions=VERSIONS,
        weights=Weights(source="checkpoint", sha256="6" * 64, file="w.pt", file_sha256="7" * 64),
        inputs=(TensorFile((1, 3), "float32", file="net.input_0.bin", sha256="8" * 64),),
        outputs=(TensorInfo((), "int64"),),
        delegation=Delegation(2, 5, 1, 0.8333, {"aten.add.Tensor": 5}, (LeftOperator("aten.sin.default", 1, ""),)),
        numerics=Numerics("eager", 50.0, None, (OutputNumerics(0, None, True, 1.0, 0.0),)),
        quantization={"scheme": "static", "calibration": 8},
        calibration=Calibration(8, "the model's", "9" * 64),
        inputs_replaced_by_random=True,
        graph=ExportedFile("net.graph.json", 9, "a" * 64),
        settings={"seed": 0, "checkpoint": None},
    )
    save_meta(pte, meta)
    assert load_meta(pte) == meta


def test_the_file_has_its_version_and_says_of_weights_only_what_applies(pte: Path) -> None:
    save_meta(pte, an_export_meta(weights=Weights(source="random", sha256="3" * 64, seed=0)))
    content = json.loads(export_meta_path(pte).read_text())
    assert content["schema_version"] == 1
    assert content["weights"] == {"source": "random", "sha256": "3" * 64, "seed": 0}


def test_a_program_without_a_meta_file_has_no_meta(pte: Path) -> None:
    assert load_meta(pte) is None


@pytest.mark.parametrize("size", [0, 1, 40, 400])
def test_a_file_that_was_cut_short_is_refused(pte: Path, size: int) -> None:
    save_meta(pte, an_export_meta())
    path = export_meta_path(pte)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(StoreError, match="is not valid JSON") as caught:
        load_meta(pte)
    assert str(path) in caught.value.message
    assert caught.value.hint == "Export the model again: etprof export MODEL --force"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema_version": 2}, "has schema version 2; this etprof reads version 1"),
        ({"schema_version": None}, "has schema version None"),
        ({"seed": "many"}, "meta file: seed: "),
        ({"pte": {"file": "x.pte"}}, r"meta file: pte\.bytes: "),
        ({"inputs": [{"shape": ["wide"]}]}, r"meta file: inputs\.0\.shape\.0: "),
        ({"numerics": None}, "meta file: numerics: "),
    ],
)
def test_a_file_with_something_else_in_it_is_refused_by_field(pte: Path, change: dict[str, Any], words: str) -> None:
    save_meta(pte, an_export_meta())
    path = export_meta_path(pte)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(StoreError, match=words):
        load_meta(pte)


@pytest.mark.parametrize("content", [[], "text", 3])
def test_json_of_another_kind_is_refused(pte: Path, content: object) -> None:
    export_meta_path(pte).write_text(json.dumps(content))
    with pytest.raises(StoreError, match="has schema version None"):
        load_meta(pte)


def test_a_file_that_cannot_be_opened_is_refused_with_the_reason(pte: Path) -> None:
    export_meta_path(pte).mkdir()
    with pytest.raises(StoreError, match="cannot be read: Is a directory"):
        load_meta(pte)


class TestReuse:
    """Only a file that answers the request to the letter is kept."""

    @pytest.fixture
    def request_(self, tmp_path: Path) -> ExportRequest:
        return ExportRequest("net", tmp_path, save_graph=False)

    @pytest.fixture
    def meta(self, request_: ExportRequest) -> ExportMeta:
        """What an export of the request left in its folder."""
        paths = (request_.pte, etrecord_path(request_.pte), input_path(request_.pte, 0))
        for path in paths:
            path.write_bytes(path.name.encode())
        program, record, inputs = (ExportedFile(path.name, 1, file_sha256(path)) for path in paths)
        like = an_export_meta()
        meta = build_meta(
            request_,
            model_source=like.model_source,
            versions=VERSIONS,
            weights=like.weights,
            inputs=(TensorFile((1,), "float32", file=inputs.file, sha256=inputs.sha256),),
            outputs=(),
            pte=program,
            etrecord=record,
            delegation=like.delegation,
            numerics=like.numerics,
        )
        save_meta(request_.pte, meta)
        return meta

    def test_the_same_request_finds_the_artifact(self, request_: ExportRequest, meta: ExportMeta) -> None:
        found = find_reusable(request_, SOURCE, VERSIONS)
        assert found == Artifact(request_.pte, meta, reused=True)

    def test_an_export_of_before_the_eager_outputs_were_stored_is_made_again(
        self, request_: ExportRequest, meta: ExportMeta
    ) -> None:
        save_meta(request_.pte, replace(meta, outputs=(TensorInfo((1,), "float32"),)))
        assert find_reusable(request_, SOURCE, VERSIONS) is None

    def test_code_without_a_digest_is_never_taken_for_the_same(self, request_: ExportRequest, meta: ExportMeta) -> None:
        save_meta(request_.pte, replace(meta, model_source=replace(meta.model_source, sha256="")))
        assert find_reusable(request_, "", VERSIONS) is None

    def test_an_empty_folder_has_nothing_to_reuse(self, request_: ExportRequest) -> None:
        assert find_reusable(request_, SOURCE, VERSIONS) is None

    @pytest.mark.usefixtures("meta")
    @pytest.mark.parametrize(
        "change",
        [
            {"seed": 1},
            {"save_graph": True},
            {"min_snr_db": 100.1},
        ],
    )
    def test_another_request_finds_nothing(self, request_: ExportRequest, change: dict[str, Any]) -> None:
        assert find_reusable(replace(request_, **change), SOURCE, VERSIONS) is None

    @pytest.mark.usefixtures("meta")
    def test_other_code_or_other_versions_find_nothing(
        self, request_: ExportRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert find_reusable(request_, "0" * 64, VERSIONS) is None
        assert find_reusable(request_, SOURCE, {**VERSIONS, "torchvision": "0.28.0"}) is None
        monkeypatch.setattr(etprof, "__version__", "99")
        assert find_reusable(request_, SOURCE, VERSIONS) is None

    @pytest.mark.usefixtures("meta")
    @pytest.mark.parametrize("suffix", ["pte", "pte.etrecord", "input_0.bin"])
    def test_a_changed_or_missing_file_finds_nothing(self, request_: ExportRequest, suffix: str) -> None:
        path = request_.folder / f"{request_.stem}.{suffix}"
        path.write_bytes(b"damaged")
        assert find_reusable(request_, SOURCE, VERSIONS) is None
        path.unlink()
        assert find_reusable(request_, SOURCE, VERSIONS) is None

    @pytest.mark.usefixtures("meta")
    def test_a_damaged_meta_file_finds_nothing(self, request_: ExportRequest) -> None:
        export_meta_path(request_.pte).write_text("{")
        assert find_reusable(request_, SOURCE, VERSIONS) is None


def test_a_quantised_request_is_described_with_its_scheme(tmp_path: Path) -> None:
    like = an_export_meta()
    meta = build_meta(
        ExportRequest("net", tmp_path, quantization=Quantization("dynamic")),
        model_source=like.model_source, versions={}, weights=like.weights, inputs=(), outputs=(), pte=like.pte,
        etrecord=like.etrecord, delegation=like.delegation, numerics=like.numerics,
    )  # fmt: skip
    assert meta.precision == "q8"
    assert meta.quantization == meta.settings["quantization"]
    assert (meta.quantization or {})["scheme"] == "dynamic"
