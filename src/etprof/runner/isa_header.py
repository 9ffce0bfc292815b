"""The tables of isa.py as the C++ header the native runner is compiled with, so that the two cannot disagree."""

from collections.abc import Iterable

from etprof.core.extensions import HIDDEN_TOGETHER
from etprof.runner.hiding import MINIMUM_AGREEMENTS
from etprof.runner.isa import (
    AMBIGUOUS_FEATURES,
    ARM64_LINUX_HWCAPS,
    ARM64_MACOS_SYSCTLS,
    LAYOUTS,
    X86_64_LINUX_FLAGS,
    IsaLayout,
)


def render_isa_header(architecture: str, layout: IsaLayout | None = None) -> str:
    """The header for one architecture; `layout` stands in for the known one where a test wants a wrong one."""
    table = layout or LAYOUTS[architecture]
    fields = (f'{{"{n}", {o}, {_boolean(n in AMBIGUOUS_FEATURES)}}}' for n, o in table.offsets.items())
    groups = (f'{{"{name}", "{" ".join(members)}"}}' for name, members in HIDDEN_TOGETHER[architecture].items())
    return "\n".join(
        [
            "// Generated from isa.py; edit that.",
            "#pragma once",
            "",
            '#include "isa_types.h"',
            "",
            "namespace etprof {",
            "",
            f'constexpr const char* kArchitecture = "{architecture}";',
            f"constexpr size_t kTableBytes = {table.size};",
            f"constexpr size_t kMinimumAgreements = {MINIMUM_AGREEMENTS};",
            _render_array("IsaField", "kFields", fields),
            _render_array("IsaGroup", "kGroups", groups),
            *_render_reported(architecture),
            "",
            "}  // namespace etprof",
            "",
        ]
    )


def _render_reported(architecture: str) -> list[str]:
    if architecture == "x86_64":
        flags = (f'{{"{name}", "{flag}", 0, 0}}' for flag, name in X86_64_LINUX_FLAGS.items())
        return [_render_array("ReportedField", "kLinuxReported", flags)]
    hwcaps = (f'{{"{name}", "", {entry}, {bit}}}' for (entry, bit), name in ARM64_LINUX_HWCAPS.items())
    sysctls = (f'{{"{name}", "{key}", 0, 0}}' for key, name in ARM64_MACOS_SYSCTLS.items())
    return [
        _render_array("ReportedField", "kLinuxReported", hwcaps),
        _render_array("ReportedField", "kMacosReported", sysctls),
    ]


def _render_array(kind: str, name: str, rows: Iterable[str]) -> str:
    return f"[[maybe_unused]] constexpr {kind} {name}[] = {{\n    " + ",\n    ".join(rows) + ",\n};"


def _boolean(value: bool) -> str:
    return "true" if value else "false"
