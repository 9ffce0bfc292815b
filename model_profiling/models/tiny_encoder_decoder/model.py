"""An encoder of 200 frames and a decoder that attends to what it gives, in one program of two methods.

The methods have the names of ExecuTorch's own speech runner: `encoder` and `text_decoder`.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from etprof.core.model import EagerModelBase, MethodInputs
from etprof.export.registry import register_model

FRAMES, FEATURES, WIDTH, HEADS, HIDDEN, VOCABULARY, CONTEXT = 200, 80, 128, 4, 512, 1024, 128
HEAD = WIDTH // HEADS
# Far below every score, and within the range of fp16.
MASKED = -1e4


def split_heads(tokens: Tensor) -> Tensor:
    """[1, tokens, width] to [heads, tokens, width of a head]."""
    return tokens.view(-1, HEADS, HEAD).transpose(0, 1)


def attend(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = torch.bmm(query, keys.transpose(1, 2)) * HEAD**-0.5
    weights = torch.softmax(scores if mask is None else scores + mask, dim=-1)
    return torch.bmm(weights, values).transpose(0, 1).reshape(1, -1, WIDTH)


class Projections(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.project = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def split(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Query, key and value, heads in front."""
        return split_heads(self.query(tokens)), split_heads(self.key(tokens)), split_heads(self.value(tokens))


class Mlp(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, WIDTH))


class Encoder(nn.Module):
    """Frames of features [1, frames, features] to states [1, frames, width]."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(FEATURES, WIDTH)
        self.norm, self.own, self.mlp = nn.LayerNorm(WIDTH), Projections(), Mlp()

    def forward(self, frames: Tensor) -> Tensor:
        states = self.enter(frames)
        states = states + self.own.project(attend(*self.own.split(self.norm(states))))
        return states + self.mlp(states)


class Decoder(nn.Module):
    """One token [1, 1] at a position [1], and the encoder's states, to logits [1, 1, vocabulary]."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.norm1, self.own = nn.LayerNorm(WIDTH), Projections()
        self.norm2, self.cross = nn.LayerNorm(WIDTH), Projections()
        self.mlp, self.head = Mlp(), nn.Linear(WIDTH, VOCABULARY)
        self.register_buffer("keys", torch.zeros(HEADS, CONTEXT, HEAD), persistent=False)
        self.register_buffer("values", torch.zeros(HEADS, CONTEXT, HEAD), persistent=False)
        self.register_buffer("order", torch.arange(CONTEXT), persistent=False)

    def forward(self, ids: Tensor, position: Tensor, states: Tensor) -> Tensor:
        token = self.embedding(ids) + self.places(position)
        query, key, value = self.own.split(self.norm1(token))
        self.keys.index_copy_(1, position, key)
        self.values.index_copy_(1, position, value)
        mask = (self.order > position).to(token.dtype) * MASKED
        token = token + self.own.project(attend(query, self.keys, self.values, mask))
        query = split_heads(self.cross.query(self.norm2(token)))
        keys, values = (split_heads(layer(states)) for layer in (self.cross.key, self.cross.value))
        token = token + self.cross.project(attend(query, keys, values))
        return self.head(token + self.mlp(token))


class TinyEncoderDecoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.text_decoder = Encoder(), Decoder()


class TinyEncoderDecoderModel(EagerModelBase):
    def get_eager_model(self) -> nn.Module:
        return TinyEncoderDecoder()

    def get_example_inputs(self) -> tuple[Tensor, ...]:
        return (torch.randn(1, FRAMES, FEATURES),)

    def get_methods(self) -> Mapping[str, MethodInputs]:
        ids, position = torch.randint(0, VOCABULARY, (1, 1)), torch.zeros(1, dtype=torch.int64)
        return {
            "encoder": MethodInputs(self.get_example_inputs()),
            "text_decoder": MethodInputs((ids, position, torch.randn(1, FRAMES, WIDTH))),
        }

    def get_constant_methods(self) -> Mapping[str, Any]:
        return {"get_max_seq_len": CONTEXT, "get_vocab_size": VOCABULARY, "use_kv_cache": True}


register_model(
    "tiny_encoder_decoder", TinyEncoderDecoderModel, description="two methods: encoder and decoder; no extra package"
)
