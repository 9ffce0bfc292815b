"""Text from models and devices without what is no letter: control characters, lone surrogates, direction marks."""


def printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
