"""The shell of this machine in the place of one on a device: scripts are run, and the connection can be cut."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

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


@dataclass
class LyingShell(LocalShell):
    """Puts other commands in the place of those whose output is an answer, in the first block only."""

    find: str = "tar -cf - ."
    instead: str = ""
    lies_left: int = 1

    def command(self, script: str) -> list[str]:
        if self.lies_left and self.find in script:
            self.lies_left -= 1
            script = script.replace(self.find, self.instead)
        return super().command(script)


LIES = {
    "no archive": ("tar -cf - .", "echo nonsense"),
    "compressed archive": ("tar -cf - .", "tar -czf - ."),
    "odd bytes for the state": ("> out/state_before", ">/dev/null; printf '\\377\\376 load' > out/state_before"),
    "odd core numbers": ("> out/state_after", ">/dev/null; echo 'governor x y' > out/state_after"),
    "infinite load": ("> out/state_after", ">/dev/null; echo 'load 1e999' > out/state_after"),
    "no exit code": ('echo "code $code"', "echo code none"),
    "exit code beyond all": ('echo "code $code"', "echo code 99999999999999999999"),
}


@dataclass
class UnreliableShell(LocalShell):
    """Of its scripts some are cut off and some answered with nonsense, by lot; each is noted in a file."""

    tally: Path = Path(os.devnull)
    lot: Random = field(default_factory=Random)
    share: float = 0.2

    def command(self, script: str) -> list[str]:
        if self.lot.random() < self.share / 5:
            self._note("cut")
            return ["sh", "-c", "kill -9 $$"]
        lies = [lie for lie in LIES.values() if lie[0] in script]
        if lies and self.lot.random() < self.share:
            self._note("lie")
            script = script.replace(*self.lot.choice(lies))
        return super().command(script)

    def _note(self, what: str) -> None:
        with self.tally.open("a") as tally:
            tally.write(f"{what}\n")
