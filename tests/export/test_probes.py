"""The fixed set of operators of a calibration: what version it is, and that its networks compute."""

import hashlib

import pytest

from etprof.core.device_profile import PROBES
from etprof.core.errors import UnknownNameError
from etprof.export.probes import list_programs

# Of the sizes of all layers; changes only together with the version.
DIGESTS = {1: "8ada5c2167a84a07"}


def test_a_set_of_another_version_has_other_networks(libraries: None) -> None:
    import torch

    from etprof.export.probes import networks

    sizes = []
    for name in ("FirstImageProbe", "SecondImageProbe", "TokenProbe", "SingleProbe"):
        probe = getattr(networks, name)()
        module, inputs = probe.get_eager_model(), probe.get_example_inputs()
        sizes += [(name, key, tuple(value.shape)) for key, value in module.named_parameters()]
        with torch.no_grad():
            outputs = module(*inputs)
        for output in outputs if isinstance(outputs, tuple) else (outputs,):
            assert 1e-3 < float(output.abs().max()) < 1e3, "what vanishes or grows is computed at another speed"
    assert hashlib.sha256(repr(sizes).encode()).hexdigest()[:16] == DIGESTS[PROBES], "raise PROBES"


def test_programs_are_those_of_the_precisions_that_are_named() -> None:
    assert [program.name for program in list_programs(("int8",))] == [
        "int8/image_1", "int8/image_2", "int8/tokens", "int8/single",
    ]  # fmt: skip
    assert len(list_programs()) == 12
    with pytest.raises(UnknownNameError, match="fp64"):
        list_programs(("fp64",))
