"""Where in a file that a user wrote something is wrong, and in which words it is said."""

from pydantic import BaseModel, ConfigDict, ValidationError

PROBLEMS = {
    "int_type": "it must be a whole number, without quotes",
    "int_from_float": "it must be a whole number",
    "float_type": "it must be a number, without quotes",
    "string_type": "it must be a text in quotes",
    "bool_type": "it must be true or false",
    "list_type": "it must be a list",
}
# For the editor, and for a reader.
NOT_OURS = ("$schema", "$comment")


class FilePart(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


def describe_place(location: tuple[int | str, ...]) -> str:
    """For readers: experiments[0].runs."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def describe_problem(error: ValidationError) -> str:
    """The first mistake of a file."""
    first = error.errors()[0]
    return PROBLEMS.get(first["type"], first["msg"].removeprefix("Value error, "))
