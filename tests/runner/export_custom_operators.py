"""Run as a program: exports a layer that calls ExecuTorch's operators for language models."""

import sys
from pathlib import Path

import torch
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  it registers them


class Attention(torch.nn.Module):  # type: ignore[misc]
    """Keys and values of four tokens, eight positions, two heads."""

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = torch.ops.llama.custom_sdpa(tokens, tokens, tokens, 0, None, 0.0, True)
        return result


def main(path: Path) -> None:
    exported = torch.export.export(Attention(), (torch.randn(1, 4, 2, 8),), strict=False)
    path.write_bytes(bytes(to_edge_transform_and_lower(exported).to_executorch().buffer))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
