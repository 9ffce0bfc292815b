"""The table of kernels that ships with the package, kept as data by version of ExecuTorch."""

import json
import re
from functools import cache
from importlib import resources

from etprof.core.coverage import Coverage, CoverageRule
from etprof.core.errors import StoreError

_TABLE = "kernel_coverage.json"
SCHEMA_VERSION = 1


@cache
def load_coverage() -> Coverage:
    content = json.loads((resources.files("etprof.store") / _TABLE).read_text(encoding="utf-8"))
    if content["schema_version"] != SCHEMA_VERSION:
        raise StoreError(f"{_TABLE} has version {content['schema_version']}.", hint="Install etprof again.")
    return {
        (table["extension"], version): tuple(
            CoverageRule(re.compile(rule["operator"]), rule["covered"], rule["why"]) for rule in table["rules"]
        )
        for table in content["tables"]
        for version in table["executorch"]
    }
