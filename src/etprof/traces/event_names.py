"""The name in what a delegate recorded as one: some write a JSON object with the kernel's name and more."""

import json

# Where such an object has its name; Vulkan's shaders have it under the first of them.
_NAME_KEYS = ("kernel_name", "name")


def find_plain_names(recorded: tuple[str, ...]) -> tuple[str, ...]:
    """For each recorded name the name to show: itself, unless it is a JSON object that holds one."""
    return tuple(_find_in_object(text) if text.startswith("{") else text for text in recorded)


def _find_in_object(text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(value, dict):
        return text
    return next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str) and value[key]), text)
