"""The table of CPU features: complete, consistent, and with nothing hidden by halves."""

import pytest

from etprof.core.errors import UnknownNameError
from etprof.core.extensions import HIDDEN_TOGETHER as GROUPS
from etprof.runner.isa import (
    AMBIGUOUS_FEATURES,
    ARM64_LINUX_HWCAPS,
    ARM64_MACOS_SYSCTLS,
    LAYOUTS,
    X86_64_LINUX_FLAGS,
    resolve_hidden,
)

pytestmark = pytest.mark.portable


def test_x86_has_85_features_in_85_bytes() -> None:
    layout = LAYOUTS["x86_64"]
    assert sorted(layout.offsets.values()) == list(range(85)) == list(range(layout.size))


def test_arm_leaves_the_two_vector_lengths_alone() -> None:
    layout = LAYOUTS["arm64"]
    assert set(range(12, 20)).isdisjoint(layout.offsets.values())
    assert (layout.offsets["sme_f16f16"], layout.offsets["rdm"], layout.offsets["crc32"]) == (11, 20, 30)
    assert layout.size == 32


@pytest.mark.parametrize("architecture", GROUPS)
def test_groups_and_reports_name_known_features_only(architecture: str) -> None:
    known = set(LAYOUTS[architecture].offsets)
    assert all(set(members) <= known and members for members in GROUPS[architecture].values())
    reported = X86_64_LINUX_FLAGS if architecture == "x86_64" else ARM64_LINUX_HWCAPS | ARM64_MACOS_SYSCTLS
    assert set(reported.values()) <= known


@pytest.mark.parametrize("names", [("sme",), ("sme2",), ("sme", "sme2")])
def test_hiding_any_sme_hides_all_of_it(names: tuple[str, ...]) -> None:
    assert resolve_hidden("arm64", names) == tuple(n for n in LAYOUTS["arm64"].offsets if n.startswith("sme"))


def test_hiding_a_base_hides_what_needs_it() -> None:
    assert {"amx_tile", "avx512vnni", "avx512fp16"} <= set(resolve_hidden("x86_64", ("avx512",)))
    assert {"avx512f", "amx_int8", "fma3"} <= set(resolve_hidden("x86_64", ("avx2",)))
    assert resolve_hidden("arm64", ("sve",)) == ("sve", "sve2")


def test_nothing_asked_hides_nothing() -> None:
    assert resolve_hidden("x86_64", ()) == ()


def test_an_unknown_group_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError) as caught:
        resolve_hidden("x86_64", ("avx51",))
    assert "avx512" in caught.value.hint


def test_features_that_may_differ_are_reported_and_never_hidden_on_x86() -> None:
    arm, x86 = set(ARM64_LINUX_HWCAPS.values()), set(X86_64_LINUX_FLAGS.values())
    assert arm | x86 > AMBIGUOUS_FEATURES
    assert not AMBIGUOUS_FEATURES & set(resolve_hidden("x86_64", ("avx2", "avx512", "amx")))
