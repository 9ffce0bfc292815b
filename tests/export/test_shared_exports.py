"""An export that tests share is made once, also where another process asks for it."""

from shared_exports import SharedExports


def test_another_worker_finds_the_export_that_one_has_made(exported: SharedExports) -> None:
    first = exported("toy_cnn")
    made_at = first.pte.stat().st_mtime_ns
    other = SharedExports(exported.folder)("toy_cnn")
    assert other.meta == first.meta
    assert other.pte == first.pte
    assert other.pte.stat().st_mtime_ns == made_at


def test_another_precision_is_another_export(exported: SharedExports) -> None:
    assert exported("toy_cnn", "fp16").pte.parent != exported("toy_cnn").pte.parent
