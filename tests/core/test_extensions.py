"""The table of extensions: consistent in itself, and the one that a comparison is about."""

import pytest

from etprof.analysis.kernels.instructions import CLASSES
from etprof.core.errors import UnknownNameError, UsageError
from etprof.core.extensions import (
    ARM64,
    EXTENSIONS,
    HIDDEN_TOGETHER,
    X86_64,
    Extension,
    best_extension,
    classes_of_label,
    features_to_hide,
    find_extension,
)

EVERY = [(architecture, extension) for architecture, known in EXTENSIONS.items() for extension in known]
IDS = [f"{architecture} {extension.label}" for architecture, extension in EVERY]


@pytest.mark.parametrize(("architecture", "extension"), EVERY, ids=IDS)
def test_hiding_an_extension_hides_its_feature(architecture: str, extension: Extension) -> None:
    assert extension.is_among(features_to_hide(architecture, extension.hide_isa))


@pytest.mark.parametrize(("architecture", "extension"), EVERY, ids=IDS)
def test_an_extension_is_proven_by_classes_that_the_architecture_has(architecture: str, extension: Extension) -> None:
    assert set(extension.classes) <= set(CLASSES[architecture])


@pytest.mark.parametrize("architecture", [ARM64, X86_64])
def test_what_hides_a_better_extension_never_hides_less(architecture: str) -> None:
    """Hiding SME must hide all of it, and hiding AVX2 what needs it: a half-hidden extension is no baseline."""
    groups = HIDDEN_TOGETHER[architecture]
    for name, hidden in groups.items():
        assert len(set(hidden)) == len(hidden), name
    if architecture == ARM64:
        assert groups["sme"] == groups["sme2"]
    else:
        assert set(groups["amx"]) < set(groups["avx512"]) < set(groups["avx2"])


@pytest.mark.parametrize(
    ("architecture", "features", "label"),
    [
        (ARM64, ("neon", "dot", "i8mm", "sme", "sme2"), "SME2"),
        (ARM64, ("dot", "i8mm", "sme"), "SME"),
        (ARM64, ("dot", "i8mm"), "i8mm and dot product"),
        (ARM64, ("dot",), "dot product"),
        (X86_64, ("avx2", "avx512f", "amx_tile"), "AVX-512 and AMX"),
        (X86_64, ("avx2", "avx512f"), "AVX-512"),
        (X86_64, ("avx2",), "AVX2"),
    ],
)
def test_the_best_extension_of_a_cpu_is_compared(architecture: str, features: tuple[str, ...], label: str) -> None:
    assert best_extension(architecture, features).label == label


@pytest.mark.parametrize(("architecture", "features"), [(ARM64, ("neon",)), (X86_64, ()), ("riscv64", ("v",))])
def test_a_cpu_without_one_gets_a_way_out(architecture: str, features: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=f"This {architecture} CPU has no") as caught:
        best_extension(architecture, features)
    assert "one experiment" in caught.value.hint


@pytest.mark.parametrize(
    ("seen", "hidden", "label", "shown"),
    [
        (("sme", "sme2"), (), "SME2", True),
        (("sme",), (), "SME", True),
        (("sme",), ("sme2", "sme"), "SME2", False),
        (("sme", "sme2", "i8mm"), ("i8mm",), "i8mm", False),
        (("i8mm", "dot"), ("i8mm", "dot"), "i8mm and dot product", False),
        (("i8mm", "dot"), ("dot",), "dot product", False),
        (("i8mm", "dot"), (), "i8mm and dot product", True),
        (("dot", "fp16arith"), ("fp16arith", "fhm"), "fp16 arithmetic", False),
        (("dot", "bf16", "i8mm"), ("bf16",), "bf16", False),
        (("sve", "sve2", "i8mm", "dot"), ("sve", "sve2"), "SVE", False),
        (("sve", "sve2", "i8mm", "dot"), ("sve2",), "i8mm and dot product", True),
        (("sme", "sme2", "i8mm", "bf16"), ("sme", "sme2", "i8mm", "bf16"), "SME2, i8mm and bf16", False),
        (("i8mm", "bf16", "dot"), ("i8mm", "bf16"), "i8mm and bf16", False),
        (("aes", "crc32"), (), "NEON", True),
        ((), (), "SME2", None),
    ],
)
def test_evidence_is_about_what_was_hidden_or_else_about_what_was_seen(
    seen: tuple[str, ...], hidden: tuple[str, ...], label: str, shown: bool | None
) -> None:
    extension, is_shown = find_extension(ARM64, seen, hidden)
    assert (extension.label, is_shown) == (label, shown)
    assert extension.classes


@pytest.mark.parametrize(
    ("seen", "hidden", "label", "shown"),
    [
        (("avx2", "avx512f", "amx_tile"), ("avx512f", "amx_tile"), "AVX-512 and AMX", False),
        (("avx2", "avx512f", "amx_tile"), ("amx_tile",), "AMX", False),
        (("avx2", "avx512f", "amx_tile"), (), "AVX-512 and AMX", True),
        (("avx2", "avx512f"), ("avx2", "avx512f"), "AVX-512", False),
        (("avx2", "avx512f"), ("avx512vnni",), "AVX-512", True),
        (("avx2",), ("avx2",), "AVX2", False),
        (("sse4_1",), (), "SSE", True),
    ],
)
def test_evidence_on_x86_is_about_the_best_that_was_hidden(
    seen: tuple[str, ...], hidden: tuple[str, ...], label: str, shown: bool
) -> None:
    extension, is_shown = find_extension(X86_64, seen, hidden)
    assert (extension.label, is_shown) == (label, shown)


@pytest.mark.parametrize("seen", [("i8mm", "dot", "sve", "bf16", "fp16arith"), ("dot",), ("aes",)])
@pytest.mark.parametrize("hidden", [(), ("dot",), ("i8mm", "dot"), ("fp16arith",), ("sve",)])
def test_nothing_speaks_of_sme_on_a_cpu_that_does_not_have_it(seen: tuple[str, ...], hidden: tuple[str, ...]) -> None:
    present = tuple(set(hidden) & set(seen))
    extension, _ = find_extension(ARM64, seen, present, [("sme", "sme2"), present])
    assert "SME" not in extension.label
    assert "SME" not in extension.classes


def test_a_variant_that_hides_nothing_is_evidence_of_what_the_others_hid() -> None:
    seen = ("sme", "sme2", "i8mm", "dot")
    assert find_extension(ARM64, seen, (), [(), ("i8mm",)])[0].label == "i8mm"
    several = [("dot",), ("sme", "sme2"), ("i8mm", "dot")]
    assert find_extension(ARM64, seen, (), several)[0].label == "SME2"
    assert find_extension(ARM64, seen, ("dot",), several) == (EXTENSIONS[ARM64][3], False)


def test_features_to_hide_are_those_of_all_groups_that_were_named() -> None:
    assert features_to_hide(ARM64, ("i8mm", "dot")) == {"i8mm", "dot"}
    assert features_to_hide(X86_64, ()) == frozenset()
    assert {"avx2", "avx512f", "amx_tile", "fma3"} <= features_to_hide(X86_64, ("avx2",))


def test_an_unknown_group_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(UnknownNameError, match="feature group to hide on arm64 called 'avx512'") as caught:
        features_to_hide(ARM64, ("avx512",))
    assert "sme2" in caught.value.hint
    assert caught.value.hint.startswith("x86_64 CPUs have it. Known here: ")
    assert caught.value.hint.endswith("`etprof profile MODEL.pte` makes the plan that fits this CPU.")
    with pytest.raises(UnknownNameError):
        features_to_hide("riscv64", ("v",))


@pytest.mark.parametrize(
    ("label", "classes"),
    [
        ("SME2", {"SME"}),
        ("AVX-512", {"AVX-512", "AMX"}),
        ("i8mm and dot product", {"I8MM", "DotProd"}),
        ("something else", set()),
    ],
)
def test_a_label_stands_for_instruction_classes(label: str, classes: set[str]) -> None:
    assert classes_of_label(label) == classes
