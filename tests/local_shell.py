"""The shell of this machine in the place of one on a device: scripts are run, and the connection can be cut."""

from dataclasses import dataclass

from etprof.core.errors import DeviceError
from etprof.devices.shell import ConnectionLostError


@dataclass
class LocalShell:
    """While `is_cut`, a script's shell dies at once, as when a cable was pulled."""

    name: str = "local:shell"
    is_cut: bool = False

    def command(self, script: str) -> list[str]:
        return ["sh", "-c", "echo 'cable pulled' >&2; kill -9 $$" if self.is_cut else script]

    def explain(self, said: str) -> DeviceError:
        return ConnectionLostError(f"{self.name} is gone ({said.strip()}).")

    def reconnect(self) -> bool:
        return not self.is_cut

    def close(self) -> None:
        """There is no connection to close."""
