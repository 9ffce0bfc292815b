"""Operators that XNNPACK's partitioner leaves out: why, in its own words, and what to write instead.

Each `instead` computes what `before` computes. A test lowers both: the first is left out for the reason given, the
second delegated as a whole. `x` is the input, `C` and `n` are sizes of it; other names are the module's own constants.
"""

from dataclasses import dataclass

from etprof.core.graph import GraphNode

NO_RULE = "XNNPACK's partitioner has no rule for this operator"
_INVALID_TYPE = "invalid dtype"
_FLOATS = ("float32", "float16")
# A rule that the operator does not meet, where only the finished program is known.
SOME_RULE = "XNNPACK's partitioner has a rule for this operator, and refused it here: `etprof export` prints the reason"


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """`operator` has neither namespace nor overload; it is empty for a reason that any operator may be refused for.

    It is refused where its input is of one of the `data_types` and `ranks`; none stands for all.
    """

    operator: str
    reason: str = NO_RULE
    data_types: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    advice: str
    before: str = ""
    instead: str = ""


REFUSALS = (
    Refusal(
        operator="gelu",
        reason="GELU does not support fp16",
        data_types=("float16",),
        advice="Spell out the tanh form of GELU; `approximate='tanh'` alone is still one operator.",
        before="F.gelu(x, approximate='tanh')",
        instead="0.5 * x * (1.0 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))",
    ),
    Refusal(
        operator="_to_dim_order_copy",
        reason="dtype conversion from torch.float16 to torch.float32",
        data_types=("float16",),
        advice="Keep one data type. SiLU in fp16 converts to fp32 and back: spell it out.",
        before="F.silu(x)",
        instead="x * torch.sigmoid(x)",
    ),
    Refusal(
        operator="_to_dim_order_copy",
        reason="dtype conversion from torch.float32 to torch.float16",
        data_types=("float32",),
        advice="A number in the code of an fp16 model is fp32, and converted in each inference. Register a buffer.",
        before="x * 0.25",
        instead="x * quarter",
    ),
    Refusal(
        operator="_to_dim_order_copy",
        reason=_INVALID_TYPE,
        ranks=(0,),
        advice="A whole number in the code is converted in each inference: write it with a decimal point. "
        "`F.hardsigmoid` has such numbers.",
        before="F.hardsigmoid(x)",
        instead="F.relu6(x + 3.0) / 6.0",
    ),
    Refusal(
        operator="native_layer_norm",
        advice="Spell out the normalisation with means as linear layers: `mean = torch.full((1, n), 1 / n)`.",
        before="F.layer_norm(x, (n,), weight, bias, 1e-5)",
        instead="(d := x - F.linear(x, mean)) * torch.rsqrt(F.linear(d * d, mean) + 1e-5) * weight + bias",
    ),
    Refusal(
        operator="native_group_norm",
        advice="Spell it out on rows of `n` elements, those of a group: `mean = torch.full((1, n), 1 / n)`.",
        before="F.group_norm(x, 2)",
        instead="((d := (g := x.reshape(-1, 2, n)) - F.linear(g, mean)) * "
        "torch.rsqrt(F.linear(d * d, mean) + 1e-5)).reshape(x.shape)",
    ),
    Refusal(
        operator="index",
        advice="Where the indices are constant, cut slices and join them; store a constant table as indexed.",
        before="x[:, [2, 0]]",
        instead="torch.cat([x[:, 2:3], x[:, 0:1]], 1)",
    ),
    Refusal(
        operator="index_select",
        advice="Cut slices and join them; `torch.roll` selects by computed indices.",
        before="torch.roll(x, 1, 1)",
        instead="torch.cat([x[:, -1:], x[:, :-1]], 1)",
    ),
    Refusal(
        operator="mean",
        reason="mean.dim only supports keepdim=True",
        ranks=(4,),
        advice="Keep the dimensions, and flatten afterwards.",
        before="x.mean((2, 3))",
        instead="x.mean((2, 3), keepdim=True).flatten(1)",
    ),
    Refusal(
        operator="mean",
        reason="mean.dim only supports averaging 4D tensors",
        advice="Bring the dimension to the end of a tensor of four dimensions, and average the last two.",
        before="x.mean(1)",
        instead="x.transpose(1, 2).unsqueeze(-1).mean((2, 3), keepdim=True).flatten(1)",
    ),
    Refusal(
        operator="sum",
        advice="A linear layer with weights of one sums the last dimension: `ones = torch.ones(1, n)`.",
        before="x.sum(-1, keepdim=True)",
        instead="F.linear(x, ones)",
    ),
    Refusal(
        operator="var",
        advice="Spell it out with means as linear layers: `mean = torch.full((1, n), 1 / n)`.",
        before="x.var(-1, correction=0, keepdim=True)",
        instead="F.linear((d := x - F.linear(x, mean)) * d, mean)",
    ),
    Refusal(
        operator="_softmax",
        reason="dim must be the last dim",
        advice="Make the dimension the last one around the softmax.",
        before="x.softmax(1)",
        instead="x.transpose(1, -1).softmax(-1).transpose(1, -1)",
    ),
    Refusal(
        operator="_log_softmax",
        advice="Take the logarithm of a softmax, where its range allows it.",
        before="F.log_softmax(x, -1)",
        instead="torch.log(x.softmax(-1))",
    ),
    Refusal(
        operator="upsample_nearest2d",
        advice="For a whole factor, a transposed convolution repeats pixels: `ones = torch.ones(C, 1, 2, 2)`.",
        before="F.interpolate(x, scale_factor=2, mode='nearest')",
        instead="F.conv_transpose2d(x, ones, stride=2, groups=C)",
    ),
    Refusal(
        operator="elu",
        advice="Spell it out with ReLU and the exponential.",
        before="F.elu(x)",
        instead="F.relu(x) + torch.exp(torch.clamp(x, max=0.0)) - 1.0",
    ),
    Refusal(
        operator="split_with_sizes_copy",
        advice="Cut slices.",
        before="torch.cat(torch.split(x, [1, 3], 1)[::-1], 1)",
        instead="torch.cat([x[:, 1:4], x[:, 0:1]], 1)",
    ),
    Refusal(
        operator="squeeze_copy",
        advice="Flatten or reshape.",
        before="x.squeeze(1)",
        instead="x.flatten(0, 1)",
    ),
    Refusal(
        operator="unsqueeze_copy",
        reason="unsqueeze_copy only supported on the trailing dimension",
        advice="Reshape.",
        before="x.unsqueeze(1)",
        instead="x.reshape(x.shape[0], 1, x.shape[1])",
    ),
    Refusal(
        operator="expand_copy",
        advice="Let the next operator broadcast, or multiply with ones of that shape: `ones = torch.ones(4, 1, 1)`.",
        before="x.expand(4, -1, -1)",
        instead="x * ones",
    ),
    Refusal(
        operator="where",
        advice="Multiply with a mask of numbers, or add one with large negative values before a softmax.",
        before="torch.where(mask > 0, x, y)",
        instead="x * mask + y * (1.0 - mask)",
    ),
    Refusal(
        operator="avg_pool2d",
        reason="zero-padding in the averaging calculation is not supported",
        advice="Pad before the pooling.",
        before="F.avg_pool2d(x, 3, 1, 1)",
        instead="F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 1)",
    ),
    Refusal(
        operator="pow",
        reason="only support power == 2",
        advice="Multiply.",
        before="x**3",
        instead="x * x * x",
    ),
    Refusal(
        operator="mm",
        reason="Expected weight to be a static param",
        advice="A product of two computed matrices is delegated as a batch of one.",
        before="x @ y",
        instead="torch.bmm(x.reshape(1, *x.shape), y.reshape(1, *y.shape)).reshape(x.shape[0], y.shape[1])",
    ),
    Refusal(
        operator="amax",
        advice="Pool over the whole width and height.",
        before="x.amax((2, 3), keepdim=True)",
        instead="F.max_pool2d(x, x.shape[2:])",
    ),
    Refusal(
        operator="embedding",
        advice="A table look-up is not delegated. Do it first, where it cuts nothing, or give its result as the input.",
    ),
    Refusal(
        operator="",
        reason=_INVALID_TYPE,
        advice="XNNPACK computes in fp32 and fp16. Compute with masks, indices and other integers outside of the "
        "model, or store what they give as constants.",
    ),
    Refusal(
        operator="",
        reason="does not support mixed input dtypes",
        advice="Give both inputs one data type.",
    ),
    Refusal(
        operator="",
        reason="Symbolic reshape is not supported",
        advice="Fix the shape, or export the model for each size that is used.",
    ),
)

# The operators that the partitioner considers at all, without namespace and overload.
OPERATORS_WITH_A_RULE = frozenset(
    {
        "abs", "add", "addmm", "avg_pool2d", "_native_batch_norm_legit_no_training", "bmm", "cat", "ceil", "clone",
        "_clone_dim_order", "constant_pad_nd", "convolution", "clamp", "div", "exp", "floor", "gelu", "hardtanh",
        "hardswish", "leaky_relu", "linear", "log", "max", "maximum", "max_pool2d", "mean", "minimum", "mm", "mul",
        "neg", "permute_copy", "pow", "prelu", "rsqrt", "relu", "tanh", "_to_dim_order_copy", "sigmoid", "sin", "cos",
        "slice_copy", "_softmax", "sqrt", "sub", "unsqueeze_copy", "upsample_bilinear2d", "view_copy",
        "quantize_per_tensor", "dequantize_per_tensor", "quantize_affine", "dequantize_affine",
        "choose_qparams_affine",
    }
)  # fmt: skip


def plain_operator(name: str) -> str:
    """gelu for aten::gelu.out, aten.gelu.default and gelu.default."""
    if "::" in name:
        return name.rpartition("::")[2].partition(".")[0]
    parts = name.split(".")
    return parts[-2] if len(parts) > 1 else name


def find_refusal(operator: str, node: GraphNode | None = None, reason: str = "") -> Refusal | None:
    """What is known of an operator that was left out, by the partitioner's reason or else by the node."""
    own = [each for each in REFUSALS if each.operator == plain_operator(operator)]
    if reason:
        anyones = [each for each in REFUSALS if not each.operator]
        said = [each for each in (*own, *anyones) if each.reason in reason]
        return next((each for each in said if node is None or _fits(each, node)), None)
    return next((each for each in own if _fits(each, node)), None)


def tell_reason(node: GraphNode) -> str:
    """Why the operator of a finished program was left out, as far as its name, types and shapes tell."""
    if plain_operator(node.type) in OPERATORS_WITH_A_RULE and _has_other_types(node):
        return _INVALID_TYPE
    if known := find_refusal(node.type, node):
        return known.reason
    return SOME_RULE if plain_operator(node.type) in OPERATORS_WITH_A_RULE else NO_RULE


def _fits(refusal: Refusal, node: GraphNode | None) -> bool:
    """Whether it holds for the node; one that depends on what the operator reads does not hold for an unknown node."""
    read = node.inputs if node else ()
    if refusal.data_types and not any(tensor.dtype in refusal.data_types for tensor in read):
        return False
    return not refusal.ranks or any(len(tensor.shape) in refusal.ranks for tensor in read[:1])


def _has_other_types(node: GraphNode) -> bool:
    return any(tensor.dtype not in _FLOATS for tensor in (*node.inputs, *node.outputs))
