"""Models of your own. A folder with a model.py that calls `register_model` is one; or register its class here.

from .your_model.model import YourModel
register_model("your_model", YourModel)
"""

from etprof.export.registry import register_model

__all__ = ["register_model"]
