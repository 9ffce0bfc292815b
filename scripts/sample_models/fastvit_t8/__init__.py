"""FastViT-T8, a model whose bottleneck surprises: in INT8 its 7x7 depthwise convolutions take most of the time."""
