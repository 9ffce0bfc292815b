"""Profiles for tests: a device whose operators take round times, with an extension shown and hidden."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from builders import a_device_info
from etprof.analysis.run_forecasts import profile_device
from etprof.core.device_profile import DeviceProfile, Extent, Level, ProbedOperator
from etprof.core.predictions import KernelCase
from peaks_builder import exactly

SHOWN, HIDDEN = Level("everything shown"), Level("avx512, amx hidden", ("avx512", "amx"), ("avx512f",))
CONVOLUTION = KernelCase("convolution", "fp32", "fp32", "fp32", True, "many rows")
LINEAR = KernelCase("fully connected", "fp32", "fp32", "fp32", True, "many rows")
TRANSPOSE, ADD = KernelCase("XNNStaticTranspose", "fp32", "fp32"), KernelCase("XNNAdd", "fp32", "fp32")
# Of each case its group, and the time with the extension shown as a part of that with it hidden.
RATIOS: Mapping[KernelCase, tuple[str, float]] = {
    CONVOLUTION: ("compute", 0.25),
    LINEAR: ("compute", 0.5),
    TRANSPOSE: ("movement", 1.0),
    ADD: ("elementwise", 0.8),
}
SIZES = ((64, 64), (256, 64), (4096, 64), (4096, 192), (4096, 256))


def a_probe(
    name: str, case: KernelCase, group: str, extent: Extent, shown_us: float, hidden_us: float
) -> ProbedOperator:
    return ProbedOperator(
        probe=name,
        case=case,
        group=group,
        is_delegated=True,
        extent=extent,
        macs=extent.rows * extent.depth * extent.columns if group == "compute" else 0,
        minimal_bytes=4 * extent.rows * extent.columns,
        times_us={SHOWN.name: exactly(shown_us), HIDDEN.name: exactly(hidden_us)},
    )


def a_profile(speed: float = 1.0, **changes: Any) -> DeviceProfile:
    """The CPU of `a_device_info`, or one so many times as fast; compute operators gain from the extension."""
    probes = [
        a_probe(
            f"fp32/{case.operator}/{rows}x{columns}", case, group,
            Extent(rows, 576 if group == "compute" else 1, columns),
            1000.0 * ratio / speed, 1000.0 / speed,
        )
        for case, (group, ratio) in RATIOS.items()
        for rows, columns in SIZES
    ]  # fmt: skip
    profile = DeviceProfile(
        device=profile_device(a_device_info()),
        calibrated_at="2026-01-02T00:00:00+00:00",
        executorch="1.5.1",
        levels=(SHOWN, HIDDEN),
        operators=tuple(probes),
    )
    return replace(profile, **changes)


def another_cpu(**changes: Any) -> Any:
    """The device of a profile that no test's run was made on."""
    return replace(profile_device(a_device_info()), cpu_model="Another CPU", **changes)
