"""Reads the data type of an XNNPACK operator out of its recorded name."""

import re

_PARENTHESES = re.compile(r"\(([^)]*)\)")
_LAYOUTS = frozenset({"NC", "ND", "NHWC", "NCHW", "NTHC", "NCHW2NHWC"})
# Packed types are the KleidiAI paths; the first letter or two of the others tell how values are quantised.
_FAMILIES = {
    "F32": "fp32",
    "PF32": "fp32 packed",
    "F16": "fp16",
    "PF16": "fp16 packed",
    "BF16": "bf16",
    "BF16_F32": "bf16",
    "QS8": "int8",
    "QU8": "int8",
    "QC8": "int8",
    "S8": "int8",
    "U8": "int8",
    "PQS8": "int8 packed",
    "QD8": "int8 dynamic",
    "QDU8": "int8 dynamic",
    "QP8": "int8 dynamic packed",
    "X8": "8-bit data",
    "X16": "16-bit data",
    "X32": "32-bit data",
    "X64": "64-bit data",
}
_WEIGHTS = re.compile(r"Q[BC](\d)W")


def find_data_type(name: str) -> str:
    """The family of the inputs, and the width of the weights where it differs; empty where the name does not say."""
    found = _PARENTHESES.search(name)
    if not found:
        return ""
    parts = [part.strip() for part in found[1].split(",")]
    types = [part for part in parts if part not in _LAYOUTS]
    family = next((_FAMILIES[part] for part in types if part in _FAMILIES), "")
    weights = next((match[1] for part in types if (match := _WEIGHTS.fullmatch(part))), "")
    if not family or not weights or (weights == "8" and "int8" in family):
        return family
    return f"{family}, {weights}-bit weights"
