"""Where a model comes from, in a few words."""

import pytest

from etprof.export.model_entry import MODELS_FOLDER, PACKAGE, WHEEL, ModelEntry


@pytest.mark.parametrize(
    ("origin", "place"), [(MODELS_FOLDER, "models/net"), (PACKAGE, "etprof"), (WHEEL, "executorch wheel")]
)
def test_only_the_folder_of_a_users_model_is_named(origin: str, place: str) -> None:
    assert ModelEntry("net", origin, "models/net").place == place
