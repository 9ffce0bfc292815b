"""For which operators an extension has kernels, by version of ExecuTorch."""

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class CoverageRule:
    """Operators whose recorded name matches, and whether there is a kernel for them; `why` ends a sentence."""

    pattern: re.Pattern[str]
    covered: bool
    why: str


# Rules by instruction class and version of ExecuTorch; the first that matches holds.
Coverage = Mapping[tuple[str, str], tuple[CoverageRule, ...]]
