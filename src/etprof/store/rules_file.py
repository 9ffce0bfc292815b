"""A user's own category rules: a JSON file that is put in front of the built-in table."""

import json
import re
import warnings
from pathlib import Path
from typing import Any

from etprof.core.categories import OVERHEADS, RULES, UNDIVIDED, Rule
from etprof.core.errors import UsageError
from etprof.store.paths import require_file

KEYS = ("pattern", "category", "subcategory")
_SHAPE = '{"rules": [{"pattern": "^my_op", "category": "GEMM", "subcategory": "mine"}]}'


def load_rules(path: Path | None) -> tuple[Rule, ...]:
    """The rules of the file first, in its order, then the built-in ones; without a file the built-in ones alone."""
    if path is None:
        return RULES
    require_file(path, "rules file", hint=f"It should read: {_SHAPE}")
    try:
        content = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"The rules file {path} cannot be read: {error.strerror}.", hint="Check its path.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"The rules file {path} is not valid JSON: {error}.", hint=f"It should read: {_SHAPE}"
        ) from error
    entries = content.get("rules") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        raise UsageError(f"The rules file {path} has no list called rules.", hint=f"It should read: {_SHAPE}")
    return tuple(_build_rule(path, number, entry) for number, entry in enumerate(entries, 1)) + RULES


def _build_rule(path: Path, number: int, entry: Any) -> Rule:
    where = f"Rule {number} of {path}"
    if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) and entry[key] for key in KEYS):
        raise UsageError(f"{where} needs the texts {', '.join(KEYS)}.", hint=f"It should read: {_SHAPE}")
    if unknown := sorted(set(entry) - set(KEYS)):
        raise UsageError(f"{where} has the unknown key {unknown[0]!r}.", hint=f"It should read: {_SHAPE}")
    if entry["category"] in (UNDIVIDED, *OVERHEADS):
        raise UsageError(
            f"{where} puts operators into {entry['category']!r}, which is time that no operator owns.",
            hint="Choose another name for the category.",
        )
    try:
        # Python warns of brackets that a later version may read otherwise; this one reads them as it always did.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            re.compile(entry["pattern"])
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(
            f"{where} has no valid pattern: {error}.", hint="It is a regular expression, searched in the plain name."
        ) from error
    return Rule(entry["pattern"], entry["category"], entry["subcategory"])
