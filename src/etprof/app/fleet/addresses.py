"""Where schedulers and workers may listen: Dask executes what it is sent, so without TLS on this machine only."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from etprof.core.errors import DependencyError, UsageError

if TYPE_CHECKING:
    from distributed.security import Security

DEFAULT_PORT = 8786
LOOPBACK = "127.0.0.1"
_TLS_HINT = (
    "Set up TLS in Dask's configuration (distributed.comm.tls: ca-file, and cert and key of scheduler, worker and "
    "client) and write tls:// before the address; the guide `Measure on many devices` shows how."
)
_LOGGERS = ("distributed", "distributed.client")
# Of every process of a fleet. Statistics that Dask samples all the time would disturb what is measured on the machine,
# and its web pages would listen on every interface.
_QUIET: dict[str, Any] = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.http.routes": [],
    "distributed.scheduler.http.routes": [],
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.scheduler.worker-ttl": "60s",
    "distributed.worker.resources": {},
}


def require_dask() -> None:
    try:
        import distributed  # noqa: F401
    except ModuleNotFoundError as error:
        raise DependencyError("A fleet needs Dask distributed.", hint='Run: pip install "etprof[fleet]"') from error


@contextmanager
def quiet_dask() -> Iterator[None]:
    """Dask without what disturbs, and without its messages: what ends a connection is said in our words."""
    import dask

    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.level for logger in loggers]
    if not dask.config.get("logging", None):
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
    try:
        with dask.config.set(_QUIET):
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def find_scheduler(given: str) -> str:
    """The address that was given, or that of Dask's configuration, or Dask's own port on this machine."""
    require_dask()
    import dask

    address = given or str(dask.config.get("scheduler-address", "") or "") or f"{LOOPBACK}:{DEFAULT_PORT}"
    protocol, _, place = address.rpartition("://")
    if protocol not in ("", "tcp", "tls"):
        raise UsageError(f"{address!r} is not an address of a fleet.", hint="Write tcp://HOST:PORT or tls://HOST:PORT.")
    host, port = split_place(place)
    return f"{protocol or 'tcp'}://{host}:{port}"


def split_place(place: str) -> tuple[str, int]:
    """HOST, HOST:PORT or [IPV6]:PORT."""
    host, _, port = place.rpartition(":") if not place.endswith("]") else (place, "", "")
    host, port = (host, port) if host else (port, "")
    is_port = not port or (port.isdecimal() and int(port) < 1 << 16)
    if not host or not is_port or any(c.isspace() or c == "/" for c in host):
        raise UsageError(f"{place!r} is not an address of a fleet.", hint="Write HOST:PORT, such as 127.0.0.1:8786.")
    return host, int(port) if port else DEFAULT_PORT


def choose_security(address: str) -> "Security":
    """What Dask is to connect and listen with; refuses to leave this machine without TLS."""
    from distributed.security import Security

    protocol, _, place = address.partition("://")
    host, _ = split_place(place)
    if protocol == "tls":
        security = Security(require_encryption=True)
        if not security.tls_ca_file:
            raise UsageError(f"{address} needs certificates, and Dask's configuration names none.", hint=_TLS_HINT)
        return security
    if not is_loopback(host):
        raise UsageError(
            f"{address} is not on this machine, and without TLS anybody who reaches it could execute programs.",
            hint=_TLS_HINT,
        )
    return Security(require_encryption=False)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
