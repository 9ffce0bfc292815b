"""An Arm CPU with SME2 on any machine: the aarch64 runner under QEMU. Which kernels run is real, its times are not."""

from dataclasses import dataclass

from etprof.devices.local import LocalDevice


@dataclass(frozen=True)
class EmulatedDevice(LocalDevice):
    @property
    def platform(self) -> str:
        return "emulated"
