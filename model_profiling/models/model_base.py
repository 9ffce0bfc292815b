"""What a model offers to be exported, at the place that users' documents name."""

from etprof.core.model import EagerModelBase

__all__ = ["EagerModelBase"]
