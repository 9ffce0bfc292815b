"""The C++ tables come from the Python ones, entry by entry."""

import re

import pytest

from etprof.core.extensions import HIDDEN_TOGETHER as GROUPS
from etprof.runner.isa import AMBIGUOUS_FEATURES, ARM64_LINUX_HWCAPS, ARM64_MACOS_SYSCTLS, LAYOUTS
from etprof.runner.isa_header import render_isa_header


@pytest.mark.parametrize("architecture", LAYOUTS)
def test_every_field_and_group_is_in_the_header(architecture: str) -> None:
    header = render_isa_header(architecture)
    for name, offset in LAYOUTS[architecture].offsets.items():
        ambiguous = "true" if name in AMBIGUOUS_FEATURES else "false"
        assert f'{{"{name}", {offset}, {ambiguous}}},' in header
    for name, members in GROUPS[architecture].items():
        assert f'{{"{name}", "{" ".join(members)}"}},' in header
    assert f"kTableBytes = {LAYOUTS[architecture].size};" in header


def test_arm_reports_both_as_linux_and_as_macos_do() -> None:
    header = render_isa_header("arm64")
    assert len(re.findall(r'^    \{"\w+", "", (?:16|26), \d+\},$', header, re.MULTILINE)) == len(ARM64_LINUX_HWCAPS)
    assert len(re.findall(r'^    \{"\w+", "FEAT_\w+", 0, 0\},$', header, re.MULTILINE)) == len(ARM64_MACOS_SYSCTLS)
