"""The functions and classes behind `import etprof`: a front end for Python programs and notebooks."""

from os import PathLike

StrPath = str | PathLike[str]
