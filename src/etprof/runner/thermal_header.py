"""The table of thermal zones as the C++ header the native runner is compiled with, so that the two cannot disagree."""

from etprof.core.thermal_zones import ABOUT_ZERO_C, CPU_ZONES, HIGHEST_C, LOWEST_C


def render_thermal_header() -> str:
    return "\n".join(
        [
            "// Generated from thermal_zones.py; edit that.",
            "#pragma once",
            "",
            "namespace etprof {",
            "",
            "constexpr const char* kCpuZones[] = {",
            *(f'    "{pattern}",' for pattern in CPU_ZONES),
            "};",
            f"constexpr double kLowestC = {LOWEST_C};",
            f"constexpr double kHighestC = {HIGHEST_C};",
            f"constexpr double kAboutZeroC = {ABOUT_ZERO_C};",
            "",
            "}  // namespace etprof",
            "",
        ]
    )
