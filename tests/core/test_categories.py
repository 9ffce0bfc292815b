"""The category table, over every operator name that this version's libraries can record."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from etprof.core.categories import CATEGORIES, RULES, Rule, categorize
from parts import need


def library_folder() -> Path:
    spec = find_spec("executorch")
    need(spec is not None and spec.submodule_search_locations, "the executorch wheel is not installed")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / "lib"


def find_strings(pattern: bytes) -> set[str]:
    """All whole strings of the ExecuTorch libraries that match."""
    libraries = [*library_folder().glob("*.so"), *library_folder().glob("*.dylib")]
    need(libraries, "the executorch wheel has no libraries")
    expression = re.compile(rb"(?<=\0)" + pattern + rb"(?=\0)")
    return {found.decode() for path in libraries for found in expression.findall(path.read_bytes())}


def test_every_xnnpack_operator_has_a_rule() -> None:
    names = find_strings(rb"[A-Z][\w ]* \([A-Z][\w, ]*\)")
    assert len(names) > 150
    # The linker stores a string that ends another one only once: these are behind longer names.
    names |= {"Invalid Unary Op", "Invalid Binary Op", "GELU (NC)", "ELU (NC)", "Square Root (NC)"}
    names |= {"Max Pooling (NHWC, F32)", "Sum Squared (ND)"}
    assert [name for name in sorted(names) if not categorize(name).matched] == []


def test_every_kernel_of_a_convolution_has_a_class() -> None:
    operators = find_strings(rb"Convolution \([A-Z][\w, ]*\)")
    kernels = find_strings(rb"(?:Conv2D HWC2CHW|DWConv|IGEMM|SPMM|Subconv2D|VMulCAddC)") | {"GEMM"}
    assert len(operators) > 10
    assert len(kernels) == 7
    for name in (f"{operator} {kernel} #3" for operator in operators for kernel in kernels):
        expected = "GEMM" if name.split()[-2] in ("GEMM", "SPMM") else "Convolution"
        assert categorize(name).name == expected, name


def test_every_portable_and_optimized_kernel_has_a_rule() -> None:
    names = find_strings(rb"native_call_[\w.]+")
    assert len(names) > 200
    assert [name for name in sorted(names) if not categorize(name).matched] == []


def test_every_operator_of_the_runtime_registry_has_a_rule() -> None:
    need(find_spec("torch") and find_spec("executorch"), "torch and executorch are not installed")
    import torch  # noqa: F401  (the bindings need it loaded)
    from executorch.extension.pybindings import _C

    names = _C._get_operator_names()
    assert len(names) > 200
    assert [name for name in sorted(names) if not categorize(name).matched] == []


def test_every_kernel_of_onnx_runtime_has_a_rule() -> None:
    need(find_spec("onnxruntime"), "onnxruntime is not installed")
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_opkernel_def

    kernels = [each for each in get_all_opkernel_def() if each.provider == "CPUExecutionProvider"]
    names = {each.op_name for each in kernels if each.domain in ("", "com.microsoft", "com.microsoft.nchwc")}
    assert len(names) > 250
    # What works on texts, or searches and samples around a network, is nothing that ExecuTorch runs as well.
    others = re.compile("String|Regex|TfIdf|Search|Sampl|Hash|NGram|Token|Word|Warping|Detector|HyperConnection|Engram")
    unmatched = [name for name in names if not categorize(f"{name} (ONNX, F32) #1").matched]
    assert sorted(name for name in unmatched if not others.search(name)) == []


@pytest.mark.parametrize(
    ("name", "category", "subcategory"),
    [
        ("Convolution (NHWC, F32) IGEMM #1", "Convolution", "convolution"),
        ("Convolution (NHWC, QC8) DWConv #12", "Convolution", "depthwise"),
        ("Convolution (NHWC, F32) VMulCAddC #1", "Convolution", "depthwise"),
        ("Convolution (NHWC, PF16) GEMM #2", "GEMM", "pointwise run as GEMM"),
        ("Deconvolution (NHWC, F32) Subconv2D #1", "Convolution", "transposed"),
        ("Fully Connected (NC, QP8, F32, QB4W) GEMM #7", "GEMM", "fully connected"),
        ("Dynamic Fully Connected (NC, PF32) GEMM #1", "GEMM", "fully connected"),
        ("Batch Matrix Multiply (NC, F32) GEMM #1", "GEMM", "batch matrix multiply"),
        ("native_call_addmm.out", "GEMM", "fully connected"),
        ("native_call_bmm.out", "GEMM", "batch matrix multiply"),
        ("native_call_convolution.out", "Convolution", "convolution"),
        ("Convert (NC, F32, QD8) #1", "Data Movement", "quantise or convert"),
        ("Convert (NC) #2", "Data Movement", "quantise or convert"),
        ("Pack LH (X32) #1", "Data Movement", "LHS packing"),
        ("Transpose (ND, X8) #4", "Data Movement", "transpose"),
        ("Static Reshape (NC) #1", "Data Movement", "reshape"),
        ("Copy (NC, X32) #1", "Data Movement", "copy"),
        ("Slice (ND, X16) #1", "Data Movement", "slice"),
        ("Constant Pad (ND, X32) #1", "Data Movement", "pad"),
        ("native_call_cat.out", "Data Movement", "concat"),
        ("native_call_permute_copy.out", "Data Movement", "transpose"),
        ("native_call_upsample_nearest2d.vec_out", "Data Movement", "repeat"),
        ("native_call_quantize_per_tensor.out", "Data Movement", "quantise or convert"),
        ("Resize Bilinear (NHWC) #1", "Other", "resize"),
        ("native_call_upsample_bilinear2d.vec_out", "Other", "resize"),
        ("Max Pooling (NHWC, F32) #1", "Other", "pooling"),
        ("Average Pooling (NHWC, F16) #1", "Other", "pooling"),
        ("native_call_max_pool2d_with_indices.out", "Other", "pooling"),
        ("native_call_native_layer_norm.out", "Other", "normalisation"),
        ("Softmax (NC, F32) #1", "Other", "softmax"),
        ("Mean (ND) Reduce2 #1", "Other", "reduction"),
        ("native_call_max.dim_max", "Other", "reduction"),
        ("native_call_maximum.out", "Elementwise", "binary"),
        ("HardSwish (NC) #1", "Elementwise", "activation"),
        ("Invalid Unary Op #3", "Elementwise", "unary"),
        ("Add (ND) #1", "Elementwise", "binary"),
        ("native_call_add.out", "Elementwise", "binary"),
        ("executorch_prim::et_view.default", "Data Movement", "reshape"),
        ("OPERATOR_CALL", "Other", "unnamed"),
        ("Conv (ONNX, F32) #1", "Convolution", "convolution"),
        ("FusedConv (ONNX, F32) depthwise #2", "Convolution", "depthwise"),
        ("Conv (ONNX, F32) 1x1 #2", "Convolution", "pointwise"),
        ("ConvTranspose (ONNX, F32) #1", "Convolution", "transposed or deformable"),
        ("FusedMatMul (ONNX, F32) #1", "GEMM", "matrix multiply"),
        ("MatMulIntegerToFloat (ONNX, F32) #1", "GEMM", "matrix multiply"),
        ("ReorderInput (ONNX, F32) #1", "Data Movement", "transpose"),
        ("Mean (ONNX, F32) #1", "Elementwise", "binary"),
        ("ReduceMean (ONNX, F32) #1", "Other", "reduction"),
        ("BiasGelu (ONNX, F16) #1", "Elementwise", "activation"),
        ("SkipLayerNormalization (ONNX, F32) #1", "Other", "normalisation"),
    ],
)
def test_a_name_belongs_where_it_should(name: str, category: str, subcategory: str) -> None:
    found = categorize(name)
    assert (found.name, found.subcategory, found.matched) == (category, subcategory, True)


def test_a_name_nobody_knows_is_other_and_unmatched() -> None:
    found = categorize("native_call_fancy_new_op.out")
    assert (found.name, found.matched) == ("Other", False)


def test_rules_of_a_user_come_first() -> None:
    rules = (Rule("^fancy_new_op", "GEMM", "mine"), *RULES)
    assert categorize("native_call_fancy_new_op.out", rules).subcategory == "mine"
    assert categorize("Add (ND) #1", rules).name == "Elementwise"


def test_every_rule_names_one_of_the_five_categories() -> None:
    assert {rule.category for rule in RULES} == set(CATEGORIES)
