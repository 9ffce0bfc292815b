"""Cells of CSV files: a text that a spreadsheet would execute as a formula is marked as text."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def guard_cell(value: object) -> object:
    """An apostrophe in front of a text that begins like a formula; numbers stay numbers."""
    return f"'{value}" if isinstance(value, str) and _begins_like_formula(value) else value


def unguard_cell(text: str) -> str:
    """What was given to `guard_cell`."""
    return text[1:] if text.startswith("'") and _begins_like_formula(text[1:]) else text


def _begins_like_formula(text: str) -> bool:
    # A text that looks guarded already gets another, so that each is read back as it was.
    if not text.lstrip("'").startswith(_FORMULA):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return text != text.strip()
