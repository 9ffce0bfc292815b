"""Devices of this machine, and exports, offered to a fleet: a Dask worker with one slot each, all in this process."""

import asyncio
import platform
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import etprof
from etprof.app.devices import DeviceRequest, find_attached, reach_device, refuse_other_options
from etprof.app.fleet import worker_tasks
from etprof.app.fleet.addresses import LOOPBACK, choose_security, find_scheduler, quiet_dask, split_place
from etprof.app.fleet.exports import EXPORTS
from etprof.app.fleet.job_process import DeviceSettings
from etprof.app.fleet.spool import Spool
from etprof.app.fleet.worker_tasks import INFORMATION, Served
from etprof.core.errors import DependencyError, DeviceError, EtprofError, UsageError
from etprof.core.fleet import describe_device, fleet_name, list_labels
from etprof.core.run import DeviceInfo
from etprof.export.dependencies import runtime_versions
from etprof.runner.build import cache_dir

if TYPE_CHECKING:
    from distributed import Worker

Tell = Callable[[str], None]


def default_spool() -> Path:
    return cache_dir() / "fleet"


def serve(
    scheduler: str, requests: Sequence[DeviceRequest], tell: Tell, spool: Path | None = None, *, exports: bool = False
) -> None:
    """Offers devices, and `exports`, until it is interrupted; a scheduler that is gone is waited for."""
    address = find_scheduler(scheduler)
    security = choose_security(address)
    if not requests and not exports:
        raise UsageError(
            "A worker needs a device.",
            hint="Name one: --device local, android:SERIAL, ssh:USER@HOST. `etprof fleet worker --exports` needs none.",
        )
    offered = Spool(spool or default_spool())
    served = _describe_all(requests, offered, tell)
    if exports:
        served.append(_describe_exports(offered, tell))

    async def offer_all() -> None:
        tell(f"connecting to the scheduler at {address}")
        await asyncio.gather(*(_offer(each, address, security, tell) for each in served))

    _run(offer_all())


def serve_all(place: str, requests: Sequence[DeviceRequest], tell: Tell, spool: Path | None = None) -> None:
    """A scheduler, and workers for what is attached to this machine, for the devices named besides, and for exports."""
    address = find_scheduler(place)
    security = choose_security(address)
    named = {(each.kind, each.place) for each in requests}
    attached = [each for each in find_attached() if (each.kind, each.place) not in named]
    offered = Spool(spool or default_spool())
    served = _describe_all([*requests, *attached], offered, tell)
    try:
        served.append(_describe_exports(offered, tell))
    except DependencyError as error:
        tell(f"models are not exported here: {error.message}")

    async def start_all() -> None:
        from distributed import Scheduler

        host, port = split_place(address.partition("://")[2])
        async with AsyncExitStack() as stack:
            options = {"dashboard": False, "dashboard_address": f"{LOOPBACK}:0", "protocol": _protocol(address)}
            try:
                await stack.enter_async_context(Scheduler(host=host, port=port, security=security, **options))
            except OSError as error:
                raise DeviceError(
                    f"Nothing can listen at {address}: {error.strerror or error}.",
                    hint="Choose another address with --scheduler.",
                ) from error
            tell(f"scheduler at {address}; send plans to it: etprof fleet run PLAN --scheduler {address}")
            await asyncio.gather(*(_offer(each, address, security, tell) for each in served))

    _run(start_all())


def _run(work: Coroutine[Any, Any, None]) -> None:
    worker_tasks.prepare_processes()
    with quiet_dask():
        asyncio.run(work)


def _describe_all(requests: Sequence[DeviceRequest], spool: Spool, tell: Tell) -> list[Served]:
    spool.prepare()
    served = [_describe(request, spool) for request in requests]
    names = [each.name for each in served]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{name} is named twice.", hint="Name each device once.")
    for each in served:
        tell(f"{each.name}: {each.information['trouble'] or each.information['facts']}")
    return served


def _describe(request: DeviceRequest, spool: Spool) -> Served:
    """A device that does not answer now is offered all the same: it may, later, and says why where it does not."""
    place = f"{request.kind}:{request.place}" if request.place else request.kind
    name = fleet_name(place, platform.node())
    refuse_other_options(request)
    try:
        info = _as_shown(reach_device(request), request)
        labels, facts, trouble = sorted(list_labels(request.kind, info)), describe_device(info), ""
    except UsageError:
        raise
    except EtprofError as error:
        labels, facts, trouble = [request.kind], "", f"{error.message} {error.hint}".rstrip()
    told = _tell_of(name, spool, labels=labels, facts=facts, trouble=trouble, exports=False)
    return Served(name, DeviceSettings.of(replace(request, wait=True)), spool, told)


def _describe_exports(spool: Spool, tell: Tell) -> Served:
    """Refused where a package is missing that exports need."""
    name = fleet_name(EXPORTS, platform.node())
    facts = ", ".join(f"{package} {version}" for package, version in runtime_versions().items())
    tell(f"{name}: {facts}")
    return Served(name, None, spool, _tell_of(name, spool, labels=[EXPORTS], facts=facts, trouble="", exports=True))


def _tell_of(name: str, spool: Spool, **more: Any) -> dict[str, Any]:
    """What the scheduler is told."""
    common = {"device": name, "spool": str(spool.root.resolve()), "version": etprof.__version__}
    return {**common, "host": platform.node(), **more}


def _as_shown(info: DeviceInfo, request: DeviceRequest) -> DeviceInfo:
    """What an emulator on the device shows to a runner is not its own CPU."""
    if not request.is_emulated:
        return info
    return replace(info, architecture="arm64", features=("sme2",), times_are_real=False)


async def _offer(served: Served, address: str, security: Any, tell: Tell) -> None:
    while True:
        worker = _build_worker(served, address, security)
        try:
            await worker
            tell(f"{served.name} is offered")
            await worker.finished()
            tell(f"{served.name}: the scheduler at {address} is gone; waiting for it")
        finally:
            await worker.close()


def _build_worker(served: Served, address: str, security: Any) -> "Worker":
    from distributed import Worker

    worker_tasks.SERVED[served.name] = served
    host = LOOPBACK if _protocol(address) == "tcp" else None
    return Worker(
        address,
        nthreads=1,
        resources={worker_tasks.resource_of(served.name): 1},
        security=security,
        protocol=_protocol(address),
        host=host,
        memory_limit=0,
        dashboard=False,
        dashboard_address=f"{LOOPBACK}:0",
        local_directory=str(served.spool.root),
        startup_information={INFORMATION: lambda _: served.information},
        metrics={INFORMATION: lambda _: served.doing},
    )


def _protocol(address: str) -> str:
    return address.partition("://")[0]
