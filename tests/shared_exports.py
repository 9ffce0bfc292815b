"""Exports that many tests look at, each made once a session by the real exporter, however many workers there are."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import pytest

from etprof.core.model import Artifact
from etprof.core.runtimes import ONNXRUNTIME, RUNTIMES
from etprof.export.converted import Origin, convert
from etprof.export.exporter import ExportRequest, export_model
from etprof.export.meta import load_meta
from etprof.export.request import Quantization
from parts import need

MODELS = Path(__file__).parents[1] / "model_profiling" / "models"


@dataclass(frozen=True)
class SharedExports:
    """Call it with a model of the package, of the repository or of the wheel. Copy what you change."""

    folder: Path

    def __call__(
        self,
        model: str,
        dtype: str = "fp32",
        quantization: Quantization | None = None,
        *,
        backend: str = "xnnpack",
    ) -> Artifact:
        wanted = ExportRequest(model, dtype=dtype, quantization=quantization, backend=backend, models_dir=MODELS)
        name = f"{wanted.stem}-{sha256(repr(wanted).encode()).hexdigest()[:12]}"
        request = replace(wanted, outdir=self.folder / name)
        with _locked(self.folder / f"{name}.lock"):
            # An export's meta file is the last to appear, so one that died is made again.
            meta = load_meta(request.pte)
            return Artifact(request.pte, meta) if meta else export_model(request)

    def converted(self, artifact: Artifact, runtime: str = ONNXRUNTIME) -> Path:
        """What another runtime runs of one of these exports."""
        packages = RUNTIMES[runtime].packages
        need(all(find_spec(name) for name in packages), f"not all of {', '.join(packages)} are installed")
        with _locked(self.folder / f"{artifact.pte.parent.name}.{runtime}.lock"):
            return convert(artifact, runtime, Origin(MODELS))


def session_exports(temporary: pytest.TempPathFactory) -> SharedExports:
    """In the folder that the workers of one session have in common, which is above their own."""
    base = temporary.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared_exports"
    folder.mkdir(exist_ok=True)
    return SharedExports(folder)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
