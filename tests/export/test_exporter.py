"""One export from request to files: what it leaves behind when it works, and when it does not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from etprof.core.digest import content_sha256
from etprof.core.errors import DependencyError, ExportError, UnknownNameError
from etprof.core.layout import export_meta_path
from etprof.core.model import TensorInfo
from etprof.export import exporter
from etprof.export.execution import run_program
from etprof.export.exporter import ExportRequest, Quantization, export_model
from etprof.export.meta import load_meta
from shared_exports import MODELS, SharedExports

Write = Callable[[str, str], Path]
pytestmark = pytest.mark.usefixtures("libraries")

TINY = """
class Model(EagerModelBase):
    def get_eager_model(self):
        return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))

    def get_example_inputs(self):
        return (torch.randn(2, 8),)
"""


@pytest.fixture
def tiny(write_model: Write, models_dir: Path, tmp_path: Path) -> Callable[..., ExportRequest]:
    write_model("tiny", TINY)
    return lambda **options: ExportRequest("tiny", tmp_path / "out", models_dir=models_dir, **options)


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def test_an_export_writes_program_record_meta_inputs_and_log(tiny: Callable[..., ExportRequest]) -> None:
    artifact = export_model(tiny())
    assert files_in(artifact.pte.parent) == {
        f"tiny_xnnpack_fp32.{suffix}"
        for suffix in (
            "pte", "pte.etrecord", "export_meta.json", "graph.json", "input_0.bin", "reference_0.bin", "export.log",
        )
    }  # fmt: skip
    assert load_meta(artifact.pte) == artifact.meta


def test_the_meta_file_describes_the_files(exported: SharedExports) -> None:
    artifact = exported("toy_cnn")
    meta = artifact.meta
    assert (meta.model, meta.dtype, meta.backend, meta.seed) == ("toy_cnn", "fp32", "xnnpack", 0)
    assert meta.pte.sha256 == content_sha256(artifact.pte)
    assert meta.pte.bytes == artifact.pte.stat().st_size
    assert set(meta.versions) == {"torch", "executorch", "torchao"}
    assert meta.weights.source == "random"
    assert meta.inputs[0].sha256 == content_sha256(artifact.inputs[0])
    assert meta.outputs == (TensorInfo((1, 10), "float32"),)
    assert meta.numerics.outputs[0].cosine > 0.999999


def test_the_reference_is_what_the_eager_model_computes_in_fp32_from_the_inputs_of_the_program(
    exported: SharedExports,
) -> None:
    import torch

    for precision in ("fp32", "fp16"):
        artifact = exported("toy_cnn", precision)
        meta, folder = artifact.meta, artifact.pte.parent
        (stored,) = meta.reference
        assert (stored.shape, stored.dtype) == ((1, 10), "float32")
        assert stored.sha256 == content_sha256(folder / stored.file)
        image = torch.from_numpy(
            np.fromfile(artifact.inputs[0], dtype=meta.inputs[0].dtype).reshape(meta.inputs[0].shape)
        )
        (output,) = run_program(artifact.pte, [image])
        reference = np.fromfile(folder / stored.file, dtype="<f4").astype(np.float64)
        noise = np.square(reference - output.flatten().double().numpy()).sum()
        assert 10 * np.log10(np.square(reference).sum() / noise) == pytest.approx(meta.numerics.worst_snr_db, abs=0.01)


def test_the_input_files_reproduce_the_checked_outputs(exported: SharedExports) -> None:
    import torch

    artifact = exported("toy_cnn", "fp16")
    (given,) = artifact.meta.inputs
    assert given.dtype == "float16"
    image = torch.from_numpy(np.fromfile(artifact.inputs[0], dtype=given.dtype).reshape(given.shape))
    (output,) = run_program(artifact.pte, [image])
    assert output.dtype == torch.float16
    assert bool(output.isfinite().all())
    assert len(set(image.flatten()[:100].tolist())) > 50


def test_the_same_command_twice_gives_the_same_bytes(exported: SharedExports, tmp_path: Path) -> None:
    first = exported("toy_cnn")
    again = export_model(ExportRequest("toy_cnn", tmp_path, models_dir=MODELS))
    assert first.pte.read_bytes() == again.pte.read_bytes()
    assert first.inputs[0].read_bytes() == again.inputs[0].read_bytes()


def test_another_seed_gives_other_weights_and_inputs(tiny: Callable[..., ExportRequest]) -> None:
    one, two = (export_model(tiny(seed=seed, force=True)).meta for seed in (1, 2))
    assert one.weights.sha256 != two.weights.sha256
    assert one.inputs[0].sha256 != two.inputs[0].sha256


def test_weights_that_a_model_brings_itself_are_not_called_random(
    write_model: Write, models_dir: Path, tmp_path: Path
) -> None:
    own = TINY.replace("return nn.Seq", "torch.manual_seed(5)\n        return nn.Seq")
    write_model("own", own)
    meta = export_model(ExportRequest("own", tmp_path / "out", models_dir=models_dir)).meta
    assert meta.weights.source == "model"


class TestReuse:
    def test_an_unchanged_artifact_is_kept(self, tiny: Callable[..., ExportRequest]) -> None:
        first = export_model(tiny())
        second = export_model(tiny())
        assert not first.reused
        assert second.reused
        assert second.meta.created_at == first.meta.created_at

    def test_force_exports_again(self, tiny: Callable[..., ExportRequest]) -> None:
        export_model(tiny())
        assert not export_model(tiny(force=True)).reused

    @pytest.mark.parametrize(
        "name",
        [
            "tiny_xnnpack_fp32.pte",
            pytest.param("tiny_xnnpack_fp32.input_0.bin", marks=pytest.mark.exhaustive),
            pytest.param("tiny_xnnpack_fp32.reference_0.bin", marks=pytest.mark.exhaustive),
        ],
    )
    def test_a_file_that_was_changed_is_exported_again(self, tiny: Callable[..., ExportRequest], name: str) -> None:
        folder = export_model(tiny()).pte.parent
        (folder / name).write_bytes(b"damaged")
        again = export_model(tiny())
        assert not again.reused
        assert again.pte.read_bytes() != b"damaged"

    def test_an_edited_model_is_exported_again(self, tiny: Callable[..., ExportRequest], models_dir: Path) -> None:
        export_model(tiny())
        source = models_dir / "tiny" / "model.py"
        source.write_text(source.read_text() + "# edited\n")
        assert not export_model(tiny()).reused

    def test_other_settings_are_exported_again(self, tiny: Callable[..., ExportRequest]) -> None:
        export_model(tiny())
        assert not export_model(tiny(seed=3, save_graph=False)).reused
        assert not export_model(tiny(seed=3)).reused

    def test_a_stricter_floor_is_not_satisfied_by_an_old_file(self, tiny: Callable[..., ExportRequest]) -> None:
        export_model(tiny())
        with pytest.raises(ExportError, match="the floor is 500 dB"):
            export_model(tiny(min_snr_db=500.0))

    def test_a_damaged_meta_file_is_no_reason_to_fail(self, tiny: Callable[..., ExportRequest]) -> None:
        export_meta_path(export_model(tiny()).pte).write_text("{")
        assert not export_model(tiny()).reused

    def test_files_of_an_earlier_export_do_not_stay_beside_a_new_one(self, tiny: Callable[..., ExportRequest]) -> None:
        folder = export_model(tiny()).pte.parent
        export_model(tiny(seed=1, save_graph=False))
        assert "tiny_xnnpack_fp32.graph.json" not in files_in(folder)


class TestFailure:
    def test_an_export_that_dies_half_way_leaves_no_program(
        self, tiny: Callable[..., ExportRequest], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: Any) -> None:
            raise RuntimeError("the disk is on fire")

        monkeypatch.setattr(exporter, "run_program", fail)
        with pytest.raises(ExportError, match=r"Running the exported program failed: RuntimeError: the disk") as caught:
            export_model(tiny())
        assert files_in(tiny().folder) == {"tiny_xnnpack_fp32.export.log"}
        assert "the disk is on fire" in (tiny().folder / "tiny_xnnpack_fp32.export.log").read_text()
        assert "export.log" in caught.value.hint

    def test_an_interrupt_leaves_no_program(
        self, tiny: Callable[..., ExportRequest], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupt(*_: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(exporter, "run_program", interrupt)
        with pytest.raises(KeyboardInterrupt):
            export_model(tiny())
        assert not [name for name in files_in(tiny().folder) if "pte" in name or "partial" in name]

    def test_a_program_that_computes_something_else_is_refused(self, tiny: Callable[..., ExportRequest]) -> None:
        scheme = Quantization("linear-weight-only")
        with pytest.raises(ExportError, match=r"SNR -\d+.* dB, and the floor is 5 dB") as caught:
            export_model(tiny(quantization=scheme))
        assert "linear-dynamic" in caught.value.hint
        assert files_in(tiny().folder) == {"tiny_xnnpack_q8.export.log"}

    def test_activations_that_vanish_in_fp16_are_refused(
        self, write_model: Write, models_dir: Path, tmp_path: Path
    ) -> None:
        write_model("faint", TINY.replace("nn.Linear(16, 4))", "nn.Linear(16, 4), Faint())") + _FAINT)
        request = ExportRequest("faint", tmp_path / "out", dtype="fp16", models_dir=models_dir)
        with pytest.raises(ExportError, match=r"'faint' \(fp16\) does not match the eager model") as caught:
            export_model(request)
        assert "PyTorch itself reaches" in caught.value.hint
        assert "its values do not fit" in caught.value.hint

    def test_a_model_that_gives_only_zeros_cannot_be_judged(
        self, write_model: Write, models_dir: Path, tmp_path: Path
    ) -> None:
        write_model("zero", TINY.replace("nn.Linear(16, 4))", "nn.Linear(16, 4), nn.Threshold(1e9, 0.0))"))
        with pytest.raises(ExportError, match=r"Every output .* is zero"):
            export_model(ExportRequest("zero", tmp_path / "out", models_dir=models_dir))

    def test_an_unknown_model_leaves_nothing(self, tmp_path: Path, models_dir: Path) -> None:
        with pytest.raises(UnknownNameError):
            export_model(ExportRequest("tony_cnn", tmp_path / "out", models_dir=models_dir))
        assert not (tmp_path / "out").exists()

    def test_a_missing_package_is_named_before_anything_is_built(
        self, write_model: Write, models_dir: Path, tmp_path: Path
    ) -> None:
        write_model("needy", TINY + "\nregister_model('needs_more', Model, requires=['no-such-package'])")
        with pytest.raises(DependencyError, match="no-such-package") as caught:
            export_model(ExportRequest("needs_more", tmp_path / "out", models_dir=models_dir))
        assert caught.value.hint.startswith("Run: pip install")

    def test_a_folder_that_does_not_import_says_why(self, write_model: Write, models_dir: Path, tmp_path: Path) -> None:
        write_model("broken", "raise ValueError('no such luck')")
        with pytest.raises(ExportError, match="ValueError: no such luck"):
            export_model(ExportRequest("broken", tmp_path / "out", models_dir=models_dir))

    def test_a_model_with_the_name_of_an_example_is_not_exported_in_its_place(
        self, write_model: Write, models_dir: Path, tmp_path: Path
    ) -> None:
        write_model("linear", TINY)
        with pytest.raises(ExportError, match="The name 'linear' is taken"):
            export_model(ExportRequest("linear", tmp_path / "out", models_dir=models_dir))

    def test_a_folder_that_cannot_be_written_is_one_sentence(
        self, tiny: Callable[..., ExportRequest], tmp_path: Path
    ) -> None:
        (tmp_path / "out").write_text("in the way")
        with pytest.raises(ExportError, match=r"Writing to .*out failed: File exists"):
            export_model(tiny())

    def test_a_model_that_cannot_be_captured_says_why(
        self, write_model: Write, models_dir: Path, tmp_path: Path
    ) -> None:
        write_model("branchy", _BRANCHY)
        with pytest.raises(ExportError, match=r"Capturing 'branchy' with torch.export failed") as caught:
            export_model(ExportRequest("branchy", tmp_path / "out", models_dir=models_dir))
        assert caught.value.message.endswith("model.py, line 10: return x if x.sum() > 0 else -x)")
        log = tmp_path / "out" / "branchy_xnnpack_fp32.export.log"
        assert "guide to adding a model" in caught.value.hint
        assert caught.value.hint.endswith(str(log))
        assert "GuardOnDataDependentSymNode" in log.read_text(encoding="utf-8")

    def test_an_input_that_is_not_a_tensor_is_refused(
        self, write_model: Write, models_dir: Path, tmp_path: Path
    ) -> None:
        write_model("scalar", _SCALAR)
        with pytest.raises(ExportError, match="Input 1 of the model is of type int"):
            export_model(ExportRequest("scalar", tmp_path / "out", models_dir=models_dir))


_FAINT = """

class Faint(nn.Module):
    def forward(self, x):
        return (x * 1e-6) * 1e-6
"""
_BRANCHY = """
class Branchy(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x

class Model(EagerModelBase):
    def get_eager_model(self):
        return Branchy()

    def get_example_inputs(self):
        return (torch.randn(3),)
"""
_SCALAR = """
class Scaled(nn.Module):
    def forward(self, x, n):
        return x * n

class Model(EagerModelBase):
    def get_eager_model(self):
        return Scaled()

    def get_example_inputs(self):
        return (torch.randn(3), 2)
"""
_MIXED = """
class Lookup(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(32, 8)

    def forward(self, ids, *, scale, shift):
        return self.table(ids) * scale - shift

class Model(EagerModelBase):
    def get_eager_model(self):
        return Lookup()

    def get_example_inputs(self):
        return (torch.randint(0, 32, (1, 6)),)

    def get_example_kwarg_inputs(self):
        return {"shift": torch.randn(8), "scale": torch.rand(1, 6, 8)}
"""
_DYNAMIC = """
class Model(EagerModelBase):
    def get_eager_model(self):
        return nn.Sequential(nn.Linear(8, 8), nn.ReLU())

    def get_example_inputs(self):
        return (torch.randn(4, 8),)

    def get_dynamic_shapes(self):
        return ({0: torch.export.Dim("rows", min=1, max=16)},)
"""


class TestInputsOfEveryKind:
    @pytest.mark.parametrize("dtype", ["fp32", "fp16"])
    def test_integers_stay_integers_and_keywords_are_cast(
        self, write_model: Write, models_dir: Path, tmp_path: Path, dtype: str
    ) -> None:
        write_model("lookup", _MIXED)
        meta = export_model(ExportRequest("lookup", tmp_path / "out", dtype=dtype, models_dir=models_dir)).meta
        floating = {"fp32": "float32", "fp16": "float16"}[dtype]
        # Keywords follow in the order in which the model gives them; a wrong order could not have been run.
        assert [(each.dtype, each.shape) for each in meta.inputs] == [
            ("int64", (1, 6)), (floating, (8,)), (floating, (1, 6, 8)),
        ]  # fmt: skip

    def test_dynamic_shapes_are_honoured(self, write_model: Write, models_dir: Path, tmp_path: Path) -> None:
        import torch

        write_model("rows", _DYNAMIC)
        artifact = export_model(ExportRequest("rows", tmp_path / "out", models_dir=models_dir))
        for rows in (1, 4, 16):
            (output,) = run_program(artifact.pte, [torch.randn(rows, 8)])
            assert tuple(output.shape) == (rows, 8)


class TestCheckpoint:
    def test_its_weights_are_used_and_its_digest_is_recorded(
        self, tiny: Callable[..., ExportRequest], tmp_path: Path
    ) -> None:
        import torch

        torch.manual_seed(7)
        network = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
        path = tmp_path / "weights.pt"
        torch.save({"state_dict": network.state_dict()}, path)
        artifact = export_model(tiny(checkpoint=path))
        assert artifact.meta.weights.file_sha256 == content_sha256(path)
        values = torch.from_numpy(np.fromfile(artifact.inputs[0], dtype="float32").reshape(2, 8))
        (output,) = run_program(artifact.pte, [values])
        assert torch.allclose(output, network(values), atol=1e-5)

    def test_another_file_under_the_same_name_is_exported_again(
        self, tiny: Callable[..., ExportRequest], tmp_path: Path
    ) -> None:
        import torch

        path = tmp_path / "weights.pt"
        for reused in (False, True, False):
            if not reused:
                network = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
                torch.save(network.state_dict(), path)
            assert export_model(tiny(checkpoint=path)).reused is reused

    def test_one_that_does_not_fit_is_refused(self, tiny: Callable[..., ExportRequest], tmp_path: Path) -> None:
        import torch

        path = tmp_path / "weights.pt"
        torch.save({"other.weight": torch.ones(1)}, path)
        with pytest.raises(ExportError, match="does not fit the model") as caught:
            export_model(tiny(checkpoint=path))
        assert "adapt_checkpoint" in caught.value.hint

    def test_one_that_is_not_a_checkpoint_is_refused(self, tiny: Callable[..., ExportRequest], tmp_path: Path) -> None:
        path = tmp_path / "weights.pt"
        path.write_text("hello")
        with pytest.raises(ExportError, match=r"Reading the checkpoint .* failed"):
            export_model(tiny(checkpoint=path))


def test_debug_keeps_every_intermediate_program(tiny: Callable[..., ExportRequest]) -> None:
    import torch

    artifact = export_model(tiny(debug=True))
    folder = artifact.pte.with_suffix(".debug")
    assert {"1_captured.pt2", "1_captured.txt", "2_lowered.txt", "2_partition_0.txt", "3_emitted.txt"} == files_in(
        folder
    )
    captured = torch.export.load(folder / "1_captured.pt2")
    assert "linear" in str(captured.graph)


def test_the_portable_backend_delegates_nothing_and_says_so(tiny: Callable[..., ExportRequest]) -> None:
    artifact = export_model(tiny(backend="portable"))
    assert artifact.pte.name == "tiny_portable_fp32.pte"
    delegation = artifact.meta.delegation
    assert (delegation.partitions, delegation.delegated_share) == (0, 0.0)
    assert {each.reason for each in delegation.left} == {"the portable backend delegates nothing"}
