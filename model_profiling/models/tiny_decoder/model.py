"""A decoder of 7 million parameters in plain torch: RMSNorm, rotary positions, a static cache, a gated MLP."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from etprof.core.model import EagerModelBase
from etprof.export.registry import register_model

VOCABULARY, WIDTH, DEPTH, HEADS, HIDDEN, CONTEXT, PROMPT = 4096, 384, 2, 6, 1152, 1024, 32
HEAD = WIDTH // HEADS
# Far below every score, and within the range of fp16.
MASKED = -1e4


class RmsNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, tokens: Tensor) -> Tensor:
        return tokens * torch.rsqrt((tokens * tokens).mean(-1, keepdim=True) + 1e-5) * self.weight


class Attention(nn.Module):
    """Writes keys and values of its tokens into the cache, then attends over the whole cache, heads in front."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.project = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.register_buffer("keys", torch.zeros(HEADS, CONTEXT, HEAD), persistent=False)
        self.register_buffer("values", torch.zeros(HEADS, CONTEXT, HEAD), persistent=False)

    def forward(self, tokens: Tensor, positions: Tensor, rotation: tuple[Tensor, Tensor], mask: Tensor) -> Tensor:
        query, key, value = (split_heads(layer(tokens)) for layer in (self.query, self.key, self.value))
        self.keys.index_copy_(1, positions, rotate(key, rotation))
        self.values.index_copy_(1, positions, value)
        scores = torch.bmm(rotate(query, rotation), self.keys.transpose(1, 2)) * HEAD**-0.5 + mask
        attended = torch.bmm(torch.softmax(scores, dim=-1), self.values)
        return self.project(attended.transpose(0, 1).reshape(1, -1, WIDTH))


def split_heads(tokens: Tensor) -> Tensor:
    """[1, tokens, width] to [heads, tokens, width of a head]."""
    return tokens.view(-1, HEADS, HEAD).transpose(0, 1)


def rotate(heads: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    cosine, sine = rotation
    first, second = heads.chunk(2, dim=-1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)


class GatedMlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up = (nn.Linear(WIDTH, HIDDEN, bias=False) for _ in range(2))
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.down(nn.functional.silu(self.gate(tokens)) * self.up(tokens))


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.attention, self.norm2, self.mlp = RmsNorm(), Attention(), RmsNorm(), GatedMlp()

    def forward(self, tokens: Tensor, positions: Tensor, rotation: tuple[Tensor, Tensor], mask: Tensor) -> Tensor:
        tokens = tokens + self.attention(self.norm1(tokens), positions, rotation, mask)
        return tokens + self.mlp(self.norm2(tokens))


class TinyDecoder(nn.Module):
    """Takes token ids [1, n] and their positions [n]; gives the logits of the last token, [1, vocabulary]."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(DEPTH))
        self.norm = RmsNorm()
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        angles = torch.arange(CONTEXT)[:, None] * 10000.0 ** -(torch.arange(HEAD // 2) / (HEAD // 2))
        self.register_buffer("cosine", angles.cos(), persistent=False)
        self.register_buffer("sine", angles.sin(), persistent=False)
        self.register_buffer("places", torch.arange(CONTEXT), persistent=False)

    def forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        tokens = self.embedding(ids)
        rotation = self.cosine.index_select(0, positions), self.sine.index_select(0, positions)
        mask = (self.places[None, :] > positions[:, None]).to(tokens.dtype) * MASKED
        for layer in self.layers:
            tokens = layer(tokens, positions, rotation, mask)
        return self.head(self.norm(tokens)[:, -1])


class TinyDecoderModel(EagerModelBase):
    def get_eager_model(self) -> nn.Module:
        return TinyDecoder()

    def get_example_inputs(self) -> tuple[Tensor, ...]:
        return torch.randint(0, VOCABULARY, (1, PROMPT)), torch.arange(PROMPT)

    def get_dynamic_shapes(self) -> Any:
        count = torch.export.Dim("count", min=1, max=CONTEXT)
        return {"ids": {1: count}, "positions": {0: count}}

    def get_constant_methods(self) -> Mapping[str, Any]:
        return {
            "get_max_seq_len": CONTEXT,
            "get_max_context_len": CONTEXT,
            "get_vocab_size": VOCABULARY,
            "get_n_layers": DEPTH,
            "use_kv_cache": True,
            "enable_dynamic_shape": True,
        }


register_model(
    "tiny_decoder", TinyDecoderModel, description="decoder with a key-value cache of 1,024 tokens; no extra package"
)
