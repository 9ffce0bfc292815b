"""The proof that cpuinfo's table is laid out as we think, fed with right and wrong layouts."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etprof.core.errors import RunnerError, UnknownNameError
from etprof.runner.hiding import find_disagreement, hide_features, hide_in_table
from etprof.runner.isa import AMBIGUOUS_FEATURES, ARM64_LINUX_HWCAPS, LAYOUTS, X86_64_LINUX_FLAGS
from etprof.runner.sdk import installed_sdk

pytestmark = pytest.mark.portable

X86 = LAYOUTS["x86_64"]
ARM = LAYOUTS["arm64"]


def make_table(layout_name: str, present: set[str]) -> bytearray:
    layout = LAYOUTS[layout_name]
    table = bytearray(layout.size)
    for name in present:
        table[layout.offsets[name]] = 1
    return table


def make_report(names: set[str], present: set[str]) -> dict[str, bool]:
    return {name: name in present for name in names}


X86_NAMES, ARM_NAMES = set(X86_64_LINUX_FLAGS.values()), set(ARM64_LINUX_HWCAPS.values())
X86_PROVING = sorted(X86_NAMES - AMBIGUOUS_FEATURES)
X86_PRESENT = {"sse3", "ssse3", "sse4_1", "avx", "avx2", "fma3", "f16c", "avx512f", "avx512vnni", "aes", "popcnt"}
ARM_PRESENT = {"atomics", "aes", "sha1", "sha2", "crc32", "dot", "i8mm", "bf16", "sve", "sve2", "sme", "sme2"}


def test_a_right_layout_is_proven_and_cleared() -> None:
    table = make_table("x86_64", X86_PRESENT)
    view = hide_in_table(table, X86, make_report(X86_NAMES, X86_PRESENT), ("avx512",))
    assert view.hidden == ("avx512f", "avx512vnni")
    assert set(view.seen) == X86_PRESENT
    assert table == make_table("x86_64", X86_PRESENT - {"avx512f", "avx512vnni"})
    assert view.proof == f"{len(X86_PROVING)} features agree with the operating system"


def test_hiding_sme_clears_every_sme_byte_and_no_other() -> None:
    table = make_table("arm64", ARM_PRESENT)
    table[12:20] = bytes([16, 0, 0, 0, 64, 0, 0, 0])
    hide_in_table(table, ARM, make_report(ARM_NAMES, ARM_PRESENT), ("sme2",))
    expected = make_table("arm64", ARM_PRESENT - {"sme", "sme2"})
    expected[12:20] = bytes([16, 0, 0, 0, 64, 0, 0, 0])
    assert table == expected


@given(
    st.sets(st.sampled_from(X86_PROVING), min_size=1),
    st.sampled_from(X86_PROVING),
)
def test_any_single_contradiction_is_found_and_named(present: set[str], wrong: str) -> None:
    report = make_report(X86_NAMES, present)
    table = make_table("x86_64", present)
    table[X86.offsets[wrong]] ^= 1
    assert repr(wrong) in find_disagreement(table, X86, report)


def test_a_wrong_layout_is_refused_and_nothing_is_touched() -> None:
    shifted = replace(X86, offsets={name: (offset + 1) % X86.size for name, offset in X86.offsets.items()})
    table = make_table("x86_64", X86_PRESENT)
    before = bytes(table)
    with pytest.raises(RunnerError, match="Refusing to hide avx512: the operating system says") as caught:
        hide_in_table(table, shifted, make_report(X86_NAMES, X86_PRESENT), ("avx512",))
    assert table == before
    assert "etprof doctor" in caught.value.hint


def test_a_wrong_layout_without_a_request_is_reported_not_raised() -> None:
    swapped = replace(X86, offsets=X86.offsets | {"avx2": X86.offsets["tbm"], "tbm": X86.offsets["avx2"]})
    view = hide_in_table(make_table("x86_64", X86_PRESENT), swapped, make_report(X86_NAMES, X86_PRESENT), ())
    assert (view.seen, view.hidden) == ((), ())
    assert view.proof.startswith("unproven: the operating system says 'avx2' is present")


def test_a_byte_that_is_no_boolean_is_refused() -> None:
    table = make_table("x86_64", X86_PRESENT)
    table[X86.offsets["lwp"]] = 16
    assert find_disagreement(table, X86, make_report(X86_NAMES, X86_PRESENT)) == (
        "cpuinfo's field 'lwp' holds 16, not 0 or 1"
    )


def test_a_table_of_another_size_is_refused() -> None:
    table = make_table("arm64", ARM_PRESENT)
    found = find_disagreement(table, ARM, make_report(ARM_NAMES, ARM_PRESENT), table_bytes=36)
    assert found == "cpuinfo's table has 36 bytes, not the expected 32"


def test_too_few_reported_features_prove_nothing() -> None:
    report = make_report({"sse3", "avx"}, {"avx"})
    assert "only 2 features" in find_disagreement(make_table("x86_64", {"avx"}), X86, report)


def test_a_cpu_that_reports_nothing_present_proves_nothing() -> None:
    assert "nothing proves" in find_disagreement(make_table("x86_64", set()), X86, make_report(X86_NAMES, set()))


def test_features_cpuinfo_guesses_may_differ() -> None:
    report = make_report(ARM_NAMES, ARM_PRESENT - {"dot"} | {"rdm"})
    assert {"dot", "rdm"} <= AMBIGUOUS_FEATURES
    assert find_disagreement(make_table("arm64", ARM_PRESENT), ARM, report) == ""


def test_instructions_that_linux_withdraws_do_not_keep_others_from_being_hidden() -> None:
    # As on AMD's Zen 5, where Linux answers "RDSEED32 is broken. Disabling the corresponding CPUID bit."
    table = make_table("x86_64", X86_PRESENT | {"rdseed"})
    view = hide_in_table(table, X86, make_report(X86_NAMES, X86_PRESENT), ("avx512",))
    assert view.hidden == ("avx512f", "avx512vnni")


def test_what_the_cpu_lacks_cannot_be_hidden() -> None:
    with pytest.raises(RunnerError, match="this CPU has none of amx"):
        hide_in_table(make_table("x86_64", X86_PRESENT), X86, make_report(X86_NAMES, X86_PRESENT), ("amx",))


def test_an_unknown_group_is_refused_before_anything_is_read() -> None:
    with pytest.raises(UnknownNameError):
        hide_in_table(bytearray(), X86, {}, ("sme",))


def test_the_installed_wheel_has_the_layout_we_know() -> None:
    library = next(p for p in installed_sdk().libraries if "threadpool" in p.name)
    view = hide_features(library, ())
    assert view.proof.endswith("features agree with the operating system")
    assert len(view.seen) > 5
