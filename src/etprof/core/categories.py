"""Puts an operator into a category by its recorded name: one table, in order, the first rule that matches decides."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

CONVOLUTION, GEMM, DATA_MOVEMENT, ELEMENTWISE, OTHER = "Convolution", "GEMM", "Data Movement", "Elementwise", "Other"
DELEGATE_OVERHEAD, FRAMEWORK_OVERHEAD = "Delegate overhead", "Framework overhead"
UNDIVIDED = "Undivided delegate time"
UNMATCHED = "unmatched"
# Where matrix extensions can help.
COMPUTE = (CONVOLUTION, GEMM)


@dataclass(frozen=True)
class Part:
    """A part that an inference's time is divided into: what it means, and its colour with that of text on it.

    The colours are those of Wong, Points of view: Color blindness, Nature Methods 8, 441 (2011): told apart with any of
    the common deficiencies.
    """

    name: str
    meaning: str
    fill: str
    ink: str


_DARK, _LIGHT = "#111111", "#ffffff"
# The categories of operators in their fixed order, then the time that no operator owns.
PARTS = (
    Part(
        CONVOLUTION,
        "Convolutions that run as such; a 1x1 convolution that runs as a matrix product counts as GEMM.",
        "#0072b2",
        _LIGHT,
    ),
    Part(GEMM, "Matrix products, whatever the model calls them.", "#56b4e9", _DARK),
    Part(DATA_MOVEMENT, "Data changes its location, layout or type; nothing is computed.", "#e69f00", _DARK),
    Part(ELEMENTWISE, "One output element from the same element of each input.", "#009e73", _DARK),
    Part(OTHER, "Everything else: pooling, softmax, normalisation, reductions, resizing.", "#cc79a7", _DARK),
    Part(
        UNDIVIDED,
        "Time in delegate calls whose operators cannot be added up: they overlap, or their clock is unknown.",
        "#dedede",
        _DARK,
    ),
    Part(
        DELEGATE_OVERHEAD,
        "Time in delegate calls outside of their operators; XNNPACK records whole microseconds.",
        "#b0b0b0",
        _DARK,
    ),
    Part(
        FRAMEWORK_OVERHEAD,
        "Time between operators: dispatch and other work of the runtime.",
        "#757575",
        _LIGHT,
    ),
)
OVERHEADS = (DELEGATE_OVERHEAD, FRAMEWORK_OVERHEAD)
CATEGORIES = tuple(part.name for part in PARTS if part.name not in (UNDIVIDED, *OVERHEADS))

_COUNTER = re.compile(r" #\d+$")
# A kernel records native_call_<operator>.<overload>; in the registry it is <namespace>::<operator>.<overload>.
_NATIVE = re.compile(r"^(?:native_call_|[a-z_]+::)")


@dataclass(frozen=True)
class Rule:
    """A regular expression, searched in the plain name without regard to case, and where its operators belong."""

    pattern: str
    category: str
    subcategory: str


@dataclass(frozen=True)
class Category:
    name: str
    subcategory: str
    matched: bool


def _kernels(operators: str) -> str:
    """The pattern of kernels, any overload, from the names of their operators."""
    return rf"^(?:{'|'.join(operators.split())})(?:\.|$)"


def _onnx(operators: str) -> str:
    """The pattern of ONNX Runtime's operators, as the reader of its profiles spells them: Conv (ONNX, F32)."""
    return rf"^(?:{'|'.join(operators.split())}) \(ONNX\b"


RULES: tuple[Rule, ...] = (
    # ONNX Runtime, with what its optimiser fuses. First: Mean and Sum are sums of tensors there, not over dimensions.
    Rule(_onnx(r"(?:DeformConv|\w*ConvTranspose\w*)"), CONVOLUTION, "transposed or deformable"),
    Rule(r"^\w+ \(ONNX.*\) depthwise$", CONVOLUTION, "depthwise"),
    Rule(r"^\w+ \(ONNX.*\) 1x1$", CONVOLUTION, "pointwise"),
    Rule(_onnx(r"\w*Conv(?:Integer|WithState)?"), CONVOLUTION, "convolution"),
    Rule(_onnx(r"\w*(?:Gemm|MatMul)\w* Einsum"), GEMM, "matrix multiply"),
    Rule(_onnx(r"\w*Attention\w*"), OTHER, "attention"),
    Rule(_onnx(r"\w*Pool(?:WithMask)? MaxRoiPool RoiAlign MaxUnpool"), OTHER, "pooling"),
    Rule(_onnx(r"\w*(?:Softmax|Hardmax)"), OTHER, "softmax"),
    Rule(_onnx(r"\w*Norm(?:alization)? LRN"), OTHER, "normalisation"),
    Rule(_onnx(r"Resize Upsample GridSample AffineGrid CropAndResize"), OTHER, "resize"),
    Rule(_onnx(r"\w*RotaryEmbedding"), OTHER, "rotary embedding"),
    Rule(_onnx(r"\w*Reduce\w+ Arg(?:Max|Min) TopK Cum(?:Sum|Prod) Det"), OTHER, "reduction"),
    Rule(_onnx(r"\w*(?:LSTM|GRU|RNN)"), OTHER, "recurrent"),
    Rule(_onnx(r"If Loop Scan"), OTHER, "control flow"),
    Rule(_onnx(r"Non(?:Zero|MaxSuppression) S?T?D?FT \w+Window MelWeightMatrix CDist Q?MoE"), OTHER, "computation"),
    Rule(
        _onnx(r"(?:Dynamic)?QuantizeLinear DequantizeLinear Cast CastLike BitCast QuantizeBFP DequantizeBFP"),
        DATA_MOVEMENT,
        "quantise or convert",
    ),
    Rule(
        _onnx(r"Transpose DepthToSpace SpaceToDepth Reorder(?:In|Out)put ReverseSequence Col2Im"),
        DATA_MOVEMENT,
        "transpose",
    ),
    Rule(_onnx(r"Reshape Flatten (?:Un)?[Ss]queeze Shape Size"), DATA_MOVEMENT, "reshape"),
    Rule(_onnx(r"Identity Memcpy\w+ Optional\w* \w*Sequence\w*"), DATA_MOVEMENT, "copy"),
    Rule(_onnx(r"Expand ExpandDims Tile"), DATA_MOVEMENT, "repeat"),
    Rule(_onnx(r"Slice DynamicSlice Split Compress Crop CenterCropPad Unique UnfoldTensor"), DATA_MOVEMENT, "slice"),
    Rule(_onnx(r"\w*Concat\w*"), DATA_MOVEMENT, "concat"),
    Rule(_onnx(r"Pad"), DATA_MOVEMENT, "pad"),
    Rule(_onnx(r"Gather\w* Scatter\w* TensorScatter OneHot"), DATA_MOVEMENT, "gather or scatter"),
    Rule(_onnx(r"Constant\w* Range EyeLike Trilu Random\w+ Bernoulli Multinomial"), DATA_MOVEMENT, "fill"),
    Rule(
        _onnx(
            r"\w*Relu \w*Gelu (?:QLinear)?Sigmoid HardSigmoid HardSwish Swish Silu Tanh Clip Elu Selu Celu Mish"
            r" \w*Softplus Scaled(?:Tanh|SiLU) Softsign Shrink Dropout BitmaskDropout BiasDropout"
        ),
        ELEMENTWISE,
        "activation",
    ),
    Rule(
        _onnx(
            r"Abs A?(?:cos|sin|tan)h? Neg Sqrt Reciprocal Exp Log Erf Ceil Floor Round Sign Not BitwiseNot IsNaN IsInf"
            r" Inverse IsAllFinite Affine Scale ImageScaler"
        ),
        ELEMENTWISE,
        "unary",
    ),
    Rule(
        _onnx(
            r"(?:QLinear|Fused|Bias|Gated)?(?:Add|Mul) Sub Div Pow Mod Max Min Mean Sum And Or Xor Equal"
            r" Greater(?:OrEqual)? Less(?:OrEqual)? Where QLinearWhere BitShift Bitwise\w+ Swiglu"
        ),
        ELEMENTWISE,
        "binary",
    ),
    # XNNPACK. What ran counts, whatever the model called it: a 1x1 convolution whose kernel is a GEMM is one.
    Rule(r"^Pack LH \(", DATA_MOVEMENT, "LHS packing"),
    Rule(r"^Pack (?:Weights?|RHS?)\b", DATA_MOVEMENT, "weight packing"),
    Rule(r"^Convolution \(.* (?:DWConv|VMulCAddC)$", CONVOLUTION, "depthwise"),
    Rule(r"^Convolution \(.* (?:GEMM|SPMM)$", GEMM, "pointwise run as GEMM"),
    Rule(r"^Convolution \(", CONVOLUTION, "convolution"),
    Rule(r"^Deconvolution \(", CONVOLUTION, "transposed"),
    Rule(r"^Batch Matrix Multiply \(", GEMM, "batch matrix multiply"),
    Rule(r"^(?:Dynamic )?Fully Connected \(", GEMM, "fully connected"),
    Rule(r"^(?:Max|Average|ArgMax) Pooling \(|^Unpooling \(", OTHER, "pooling"),
    Rule(r"^Resize Bilinear \(", OTHER, "resize"),
    Rule(r"^Softmax \(", OTHER, "softmax"),
    Rule(r"^Normalize \(", OTHER, "normalisation"),
    Rule(r"^RoPE \(", OTHER, "rotary embedding"),
    Rule(r"^(?:(?:Mean|Sum)(?: Squared)?|Reduce \w+) \(", OTHER, "reduction"),
    Rule(r"^Convert \(", DATA_MOVEMENT, "quantise or convert"),
    Rule(r"^(?:Transpose|Depth To Space|Space To Depth) \(", DATA_MOVEMENT, "transpose"),
    Rule(r"^(?:Static Reshape|Static Expand Dims|Fuse Dims|Split Dims) \(", DATA_MOVEMENT, "reshape"),
    Rule(r"^Copy \(", DATA_MOVEMENT, "copy"),
    Rule(r"^Slice \(", DATA_MOVEMENT, "slice"),
    Rule(r"^Concatenate\b", DATA_MOVEMENT, "concat"),
    Rule(r"^Constant Pad \(", DATA_MOVEMENT, "pad"),
    Rule(r"^(?:(?:Approx)?GELU|HardSwish|LeakyReLU|ELU|Sigmoid|TanH|Clamp) \(NC|^PReLU \(", ELEMENTWISE, "activation"),
    # GELU and sigmoid of a statically quantised model are recorded so.
    Rule(r"^Invalid Unary Op$|^[\w ]+ \(NC\)$", ELEMENTWISE, "unary"),
    Rule(
        r"^(?:ATan2|Add|Subtract|Multiply|Divide|Maximum|Minimum|Modulus|Power|Squared Difference|Copy Sign"
        r"|Bitwise \w+|Shift [\w ]+|Binary Elementwise) \(ND\)|^Invalid Binary Op$",
        ELEMENTWISE,
        "binary",
    ),
    # Portable, optimized and quantized kernels.
    Rule(_kernels("convolution convolution_backward"), CONVOLUTION, "convolution"),
    Rule(_kernels("addmm mm linear mixed_mm mixed_linear"), GEMM, "fully connected"),
    Rule(_kernels("bmm baddbmm"), GEMM, "batch matrix multiply"),
    Rule(_kernels(r"\w*avg_pool\dd \w*max_pool\dd\w*"), OTHER, "pooling"),
    Rule(_kernels(r"_?upsample_bi\w+ grid_sampler_\dd"), OTHER, "resize"),
    Rule(_kernels("_softmax _log_softmax"), OTHER, "softmax"),
    Rule(_kernels(r"native_layer_norm native_group_norm _native_batch_norm\w* rms_norm"), OTHER, "normalisation"),
    Rule(r"^(?:max|min)\.(?:dim|unary)", OTHER, "reduction"),
    Rule(_kernels("mean sum amax amin any all prod var var_mean argmax argmin cumsum topk sort"), OTHER, "reduction"),
    Rule(_kernels(r"_cdist_forward _pdist_forward _fft_\w+ nonzero choose_qparams\w*"), OTHER, "computation"),
    Rule(_kernels(r"sdpa_with_kv_cache custom_sdpa \w*sdpa\w*"), OTHER, "attention"),
    Rule(_kernels(r"quantize_\w+ dequantize_\w+ _to_copy _to_dim_order_copy"), DATA_MOVEMENT, "quantise or convert"),
    Rule(_kernels(r"permute_copy transpose_copy t_copy pixel_(?:un)?shuffle roll flip"), DATA_MOVEMENT, "transpose"),
    Rule(
        _kernels(
            "view_copy squeeze_copy unsqueeze_copy as_strided_copy alias_copy detach_copy view_as_real_copy et_view"
        ),
        DATA_MOVEMENT,
        "reshape",
    ),
    Rule(_kernels(r"clone _clone_dim_order copy copy_ lift_fresh_copy _d2h_copy _h2d_copy"), DATA_MOVEMENT, "copy"),
    Rule(_kernels("expand_copy repeat repeat_interleave _?upsample_nearest\\w+"), DATA_MOVEMENT, "repeat"),
    Rule(
        _kernels(
            r"slice_copy select_copy narrow_copy split_copy split_with_sizes_copy unbind_copy diagonal_copy unfold_copy"
        ),
        DATA_MOVEMENT,
        "slice",
    ),
    Rule(_kernels("cat stack"), DATA_MOVEMENT, "concat"),
    Rule(_kernels(r"constant_pad_nd reflection_pad\dd replication_pad\dd"), DATA_MOVEMENT, "pad"),
    Rule(
        _kernels(
            r"index index_put index_put_ index_select gather scatter scatter_add select_scatter slice_scatter"
            r" masked_scatter masked_select embedding\w* et_copy_index update_cache\w*"
        ),
        DATA_MOVEMENT,
        "gather or scatter",
    ),
    Rule(
        _kernels(r"empty _empty_dim_order full full_like fill zeros ones arange scalar_tensor rand randn tril"),
        DATA_MOVEMENT,
        "fill",
    ),
    Rule(
        _kernels("relu gelu elu glu leaky_relu hardtanh sigmoid tanh clamp logit native_dropout"),
        ELEMENTWISE,
        "activation",
    ),
    Rule(
        _kernels(
            r"abs a?(?:cos|sin|tan)h? neg sqrt rsqrt reciprocal exp expm1 log log10 log1p log2 erf ceil floor round"
            r" trunc sign bitwise_not logical_not isinf isnan _conj_physical"
        ),
        ELEMENTWISE,
        "unary",
    ),
    Rule(
        _kernels(
            r"add sub rsub mul div floor_divide floordiv truediv fmod mod remainder pow atan2 maximum minimum"
            r" eq ne ge gt le lt bitwise_\w+ logical_\w+ where masked_fill"
        ),
        ELEMENTWISE,
        "binary",
    ),
    Rule(_kernels(r"sym_\w+ _local_scalar_dense"), OTHER, "scalar"),
    # Functions of a recording, by the names of kernels.
    Rule(r"^(?:xnn|kai)_.*(?:igemm|imatmul|dwconv|conv2d)", CONVOLUTION, "kernel"),
    Rule(r"^(?:xnn|kai)_.*(?:gemm|matmul)", GEMM, "kernel"),
    # A kernel that was registered by hand: the runtime records its call and no name.
    Rule(r"^OPERATOR_CALL$", OTHER, "unnamed"),
)


@lru_cache(maxsize=64)
def _compile(rules: tuple[Rule, ...]) -> tuple[tuple[re.Pattern[str], Category], ...]:
    return tuple(
        (re.compile(rule.pattern, re.IGNORECASE), Category(rule.category, rule.subcategory, True)) for rule in rules
    )


def plain_name(name: str) -> str:
    """The recorded name without its counter and without what only says where the kernel came from."""
    return _NATIVE.sub("", _COUNTER.sub("", name))


# Hashing the whole table for every name would cost more than matching it.
_DEFAULT = _compile(RULES)


def part_of(name: str) -> Part | None:
    """The row of the table; None for a category that a user's own rules added."""
    return next((part for part in PARTS if part.name == name), None)


def categorize(name: str, rules: Sequence[Rule] = RULES) -> Category:
    plain = plain_name(name)
    for pattern, category in _DEFAULT if rules is RULES else _compile(tuple(rules)):
        if pattern.search(plain):
            return category
    return Category(OTHER, UNMATCHED, False)
