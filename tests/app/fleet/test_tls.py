"""With TLS as the guide sets it up, a fleet works, and whoever has no certificate is refused."""

import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from etprof.app.fleet.runs import list_devices
from etprof.core.errors import EtprofError
from fleet_etprof import TestFleet
from parts import need

GUIDE = Path(__file__).parents[3] / "docs/guides/device-lab.md"
SCRIPT = str(Path(__file__).parents[2] / "fleet_etprof.py")

pytestmark = [pytest.mark.alone, pytest.mark.exhaustive]


@pytest.fixture
def settings(tmp_path: Path, fleet: TestFleet) -> Path:
    """The folder of Dask's settings, made by the commands and the file of the guide."""
    need(shutil.which("openssl"), "there is no openssl")
    guide = GUIDE.read_text(encoding="utf-8")
    lab = tmp_path / "lab"
    lab.mkdir()
    commands = [line for line in guide.splitlines() if line.startswith("openssl ")]
    assert len(commands) == 3
    for command in commands:
        subprocess.run(command, shell=True, cwd=lab, check=True, capture_output=True, timeout=60)
    (written,) = re.findall(r"```yaml\n(.*?)```", guide, re.S)
    (lab / "tls.yaml").write_text(textwrap.dedent(written).replace("/home/me/lab", str(lab)))
    return lab


def test_a_fleet_with_certificates_works_and_one_without_is_refused(settings: Path, fleet: TestFleet) -> None:
    import dask
    import distributed  # noqa: F401 - its settings are there from then on

    address = f"tls://127.0.0.1:{fleet.port + 1}"
    environment = {"DASK_CONFIG": str(settings)}
    common = ("--scheduler", address, "--spool", str(fleet.spool))
    fleet.start_etprof(SCRIPT, "fleet", "up", *common, "--device", "scripted:phone", offers=2, **environment)
    fleet.start_etprof(SCRIPT, "fleet", "worker", *common, "--device", "scripted:tablet", offers=1, **environment)
    (written,) = dask.config.collect_yaml(paths=[str(settings)])
    tls = dask.config.merge(dask.config.get("distributed.comm.tls"), written["distributed"]["comm"]["tls"])
    with dask.config.set({"distributed.comm.tls": tls}):
        names = [device.name for device in list_devices(address)]
    assert {"scripted:phone", "scripted:tablet"} <= set(names)
    with pytest.raises(EtprofError, match="needs certificates"):
        list_devices(address)
    with pytest.raises(EtprofError, match="No scheduler answers"):
        list_devices(address.replace("tls://", "tcp://"))
