"""Dask executes what it is sent: without TLS, nothing that another machine could reach is listened on or talked to."""

from importlib.util import find_spec

import pytest

from etprof.app.fleet.addresses import choose_security, find_scheduler
from etprof.core.errors import UsageError
from parts import need


@pytest.fixture(autouse=True)
def dask() -> None:
    need(find_spec("distributed"), "distributed is not installed")


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("", "tcp://127.0.0.1:8786"),
        ("localhost", "tcp://localhost:8786"),
        ("127.0.0.1:9000", "tcp://127.0.0.1:9000"),
        ("tls://lab.example:9000", "tls://lab.example:9000"),
        ("tcp://[::1]:9000", "tcp://[::1]:9000"),
        ("tcp://[::1]", "tcp://[::1]:8786"),
    ],
)
def test_an_address_is_completed(given: str, address: str) -> None:
    assert find_scheduler(given) == address


@pytest.mark.parametrize(
    "given", ["ucx://127.0.0.1:1", "tcp://", "tcp://host:port", "host:70000", "a b:1", "tcp://h/x:1"]
)
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="is not an address of a fleet"):
        find_scheduler(given)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tcp://localhost:1", "tcp://[::1]:1", "tcp://127.1.2.3:1"])
def test_this_machine_needs_no_certificate(address: str) -> None:
    assert not choose_security(address).require_encryption


@pytest.mark.parametrize("address", ["tcp://0.0.0.0:1", "tcp://10.0.0.1:1", "tcp://[::]:1", "tcp://lab.example:1"])
def test_other_machines_need_tls(address: str) -> None:
    with pytest.raises(UsageError, match="is not on this machine, and without TLS") as error:
        choose_security(address)
    assert "tls://" in error.value.hint


def test_tls_needs_certificates() -> None:
    with pytest.raises(UsageError, match="needs certificates"):
        choose_security("tls://10.0.0.1:1")


def test_tls_has_those_of_dasks_settings() -> None:
    import dask

    with dask.config.set({"distributed.comm.tls.ca-file": "ca.pem"}):
        security = choose_security("tls://10.0.0.1:1")
    assert security.require_encryption
    assert security.tls_ca_file == "ca.pem"
