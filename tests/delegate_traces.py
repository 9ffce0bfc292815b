"""Inferences as delegates other than XNNPACK record them, written from their sources; no such device was there."""

from collections.abc import Sequence

from etdump_builder import Event

MS = 1_000_000
# Of the four events of a Vulkan delegate on the runtime's clock the last encloses the others.
STAGES = ("ETVK_COPY_INPUTS", "ETVK_COMPUTE_GRAPH_EXECUTE", "ETVK_COPY_OUTPUTS", "ETVK_EXECUTE")
SHADERS = ("conv2d_pw", "add", "conv2d_dw")


def a_shader(name: str, dispatch: int) -> str:
    return f'{{"kernel_name": "{name}", "operator_id": {dispatch + 40}, "dispatch_id": {dispatch}}}'


def a_vulkan_inference(start: int, *, clock_offset: int = 0) -> tuple[Event, ...]:
    """10 ms: copies of 1 ms around 6 ms of shaders, 2 ms each; `clock_offset` is how far the GPU's clock is off."""
    at = start + MS
    begin = at + MS // 4 + clock_offset
    shaders = [
        Event(a_shader(name, i), begin + 2 * i * MS, begin + 2 * (i + 1) * MS, 0, delegated=True)
        for i, name in enumerate(SHADERS)
    ]
    return (
        Event(STAGES[0], start + MS // 2, at, 0, delegated=True),
        Event(STAGES[1], at, at + 7 * MS, 0, delegated=True),
        *shaders,
        Event(STAGES[2], at + 7 * MS, at + 8 * MS, 0, delegated=True),
        Event(STAGES[3], start + MS // 4, at + 8 * MS, 0, delegated=True),
        Event("DELEGATE_CALL", start + MS // 8, at + 8 * MS + MS // 8, 0),
        Event("Method::execute", start, start + 10 * MS),
    )


def a_qnn_inference(start: int, ticks: Sequence[int] = (1_200_000, 700_000, 400_000)) -> tuple[Event, ...]:
    """A call of 5 ms; its events start at 0 and end at a number of cycles or of microseconds."""
    events = [Event(f"aten_op_{i}:OpId_{i} (cycles)", 0, end, 0, delegated=True) for i, end in enumerate(ticks)]
    return (
        *events,
        Event("DELEGATE_CALL", start + 1000, start + 5 * MS, 0),
        Event("Method::execute", start, start + 6 * MS),
    )


def a_parallel_inference(start: int) -> tuple[Event, ...]:
    """Two streams of one call: three operators of 3 ms that overlap, in a call of 5 ms."""
    spans = ((0, 3), (1, 4), (2, 5))
    events = [
        Event(f"stream {i % 2}, operator {i}", start + begin * MS, start + end * MS, 0, delegated=True)
        for i, (begin, end) in enumerate(spans)
    ]
    return (*events, Event("DELEGATE_CALL", start, start + 5 * MS, 0), Event("Method::execute", start, start + 6 * MS))


def a_described_inference(start: int, *metadata: bytes) -> tuple[Event, ...]:
    """Operators of 1 ms with this metadata each, as VGF, Neutron and newer XNNPACK profilers write it."""
    events = [
        Event(f"Convolution #{i + 1}", start + i * MS, start + (i + 1) * MS, 0, delegated=True, metadata=each)
        for i, each in enumerate(metadata)
    ]
    end = start + len(metadata) * MS
    return (*events, Event("DELEGATE_CALL", start, end, 0), Event("Method::execute", start, end + 1000))
