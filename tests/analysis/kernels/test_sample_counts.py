"""Samples counted by operator, function and class: nothing is lost, and blocks of one program are one."""

from pathlib import Path

from etprof.analysis.kernels.sample_counts import Counts, count_samples
from etprof.core.loaded_run import SampledBlock
from etprof.core.samples import KernelSamples
from etprof.core.trace import Trace
from sample_builder import ARM_SCALAR, LIBC, MOPA, NEON, PLAIN, POOL, SME, a_sampled_trace, met, place, samples


def count(trace: Trace, *blocks: KernelSamples) -> Counts:
    return count_samples([SampledBlock(block, trace) for block in blocks], ("SME",))


def test_every_sample_is_in_an_operator_outside_or_waiting(tmp_path: Path) -> None:
    content = samples(
        met(10, MOPA, 20)
        + met(5, PLAIN, 120)
        + met(4, PLAIN, 250)
        + met(3, place(NEON, "wait", library=POOL), 20)
        + met(2, place(NEON, "wait", library=POOL), 250)
    )
    counts = count(a_sampled_trace(tmp_path), content)
    assert (counts.samples, counts.waiting, counts.outside) == (19, 5, 4)
    assert {identity: (own.samples, own.waiting, own.hits) for identity, own in counts.operators.items()} == {
        "d0.0": (10, 3, 10),
        "d0.1": (5, 0, 0),
        "p0": (0, 0, 0),
    }


def test_functions_and_instructions_are_counted_apart(tmp_path: Path) -> None:
    counter, product = place(ARM_SCALAR, "kernel"), place(SME, "kernel", function=0x104)
    own = count(a_sampled_trace(tmp_path), samples(met(7, counter, 20) + met(2, product, 30))).operators
    (first, *_) = own.values()
    assert first.functions == {"kernel": 9}
    assert first.instructions == {"scalar": 7, "SME": 2}
    assert first.hits == 9


def test_samples_of_the_extension_are_stray_wherever_they_fell_in_executorchs_libraries(tmp_path: Path) -> None:
    content = samples(met(3, MOPA, 20) + met(2, MOPA, 250) + met(9, place(SME, "memcpy", library=LIBC), 30))
    counts = count(a_sampled_trace(tmp_path), content)
    assert counts.stray == 5
    assert sum(own.hits for own in counts.operators.values()) == 3


def test_blocks_add_up_and_agree_on_what_a_function_is_made_of(tmp_path: Path) -> None:
    one = samples(met(10, place(ARM_SCALAR, function=0x100), 20))
    two = samples(met(30, place(SME, function=0x100), 20))
    counts = count(a_sampled_trace(tmp_path), one, two)
    (first, *_) = counts.operators.values()
    assert (first.samples, first.hits) == (40, 40)
    assert list(counts.function_class.values()) == ["SME"]


def test_an_operator_knows_its_name_and_whether_it_was_delegated(tmp_path: Path) -> None:
    counts = count(a_sampled_trace(tmp_path, names=("Add (ND) #1", "Copy (NC, X32) #1")), samples([]))
    assert [(own.name, own.delegated) for own in counts.operators.values()] == [
        ("Add (ND) #1", True),
        ("Copy (NC, X32) #1", True),
        ("native_call_mean.out", False),
    ]
