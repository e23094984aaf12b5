"""The networks in PyTorch: MPNet (teacher), MiniLM (the shipped encoder) and a convolutional network (first stage)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LABELS = 5


class Layer(nn.Module):
    def __init__(self, width: int, heads: int, epsilon: float) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.l1 = nn.LayerNorm(width, eps=epsilon)
        self.i = nn.Linear(width, 4 * width)
        self.w = nn.Linear(4 * width, width)
        self.l2 = nn.LayerNorm(width, eps=epsilon)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        rows, length, width = x.shape
        q, k, v = (
            f(x).view(rows, length, self.heads, width // self.heads).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, dropout_p=0.1 if self.training else 0.0)
        x = self.l1(x + self.drop(self.o(a.transpose(1, 2).reshape(rows, length, width))))
        return self.l2(x + self.drop(self.w(F.gelu(self.i(x)))))


# Where the two bases keep the tensors of a layer.
MINILM = {
    "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value", "o": "attention.output.dense",
    "l1": "attention.output.LayerNorm", "i": "intermediate.dense", "w": "output.dense", "l2": "output.LayerNorm",
}  # fmt: skip
MPNET = {
    "q": "attention.attn.q", "k": "attention.attn.k", "v": "attention.attn.v", "o": "attention.attn.o",
    "l1": "attention.LayerNorm", "i": "intermediate.dense", "w": "output.dense", "l2": "output.LayerNorm",
}  # fmt: skip


class Encoder(nn.Module):
    """Word embeddings stay as they are: words that no training row holds keep their neighbours."""

    def __init__(self, base: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.mpnet = "encoder.relative_attention_bias.weight" in base
        names = MPNET if self.mpnet else MINILM
        words = base["embeddings.word_embeddings.weight"].float()
        width = words.shape[1]
        epsilon = 1e-5 if self.mpnet else 1e-12
        if self.mpnet:  # MPNet's vocabulary is BERT's, moved by four; start and end have ids of their own
            words = words[4:30526].clone()
            words[101], words[102] = (
                base["embeddings.word_embeddings.weight"][0],
                base["embeddings.word_embeddings.weight"][2],
            )
        self.we = nn.Embedding.from_pretrained(words, freeze=True)
        positions = base["embeddings.position_embeddings.weight"].float()
        self.pe = nn.Embedding.from_pretrained(positions[2 if self.mpnet else 0 :].clone(), freeze=False)
        kind = torch.zeros(width) if self.mpnet else base["embeddings.token_type_embeddings.weight"].float()[0].clone()
        self.te = nn.Parameter(kind)
        self.ln = _copied(nn.LayerNorm(width, eps=epsilon), base, "embeddings.LayerNorm")
        count = 1 + max(int(name.split(".")[2]) for name in base if name.startswith("encoder.layer."))
        self.L = nn.ModuleList()
        for index in range(count):
            layer = Layer(width, 12, epsilon)
            for ours, theirs in names.items():
                _copied(getattr(layer, ours), base, f"encoder.layer.{index}.{theirs}")
            self.L.append(layer)
        if self.mpnet:
            # Frozen: a bias that learns would keep attention from its fast kernels.
            self.relative = nn.Embedding.from_pretrained(base["encoder.relative_attention_bias.weight"].float())
        self.drop = nn.Dropout(0.1)
        self.head = nn.Sequential(nn.Linear(2 * width, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, LABELS))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """`ids` without the marks of start and end, `mask` true where there is a token."""
        ids, mask = _marked(ids, mask)
        x = self.drop(self.ln(self.we(ids) + self.pe.weight[: ids.shape[1]] + self.te))
        bias = torch.zeros(mask.shape, device=ids.device).masked_fill(~mask, -1e4)[:, None, None, :]
        if self.mpnet:
            bias = bias + self.relative(_buckets(ids.shape[1], ids.device)).permute(2, 0, 1)[None]
        kind = ids.device.type
        bias = bias.to(torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype)
        for layer in self.L:
            x = layer(x, bias)
        held = mask[..., None].to(x.dtype)
        mean = (x * held).sum(1) / held.sum(1)
        return self.head(torch.cat([mean, x.masked_fill(~mask[..., None], -1e4).max(1).values], -1))


class Convolutions(nn.Module):
    """Reads words in their order, not far apart: cheap enough for every window."""

    def __init__(self, base: Mapping[str, Tensor], size: int = 128, width: int = 320) -> None:
        super().__init__()
        words = base["embeddings.word_embeddings.weight"].float()
        words = words - words.mean(0)
        axes = torch.linalg.svd(words[999:], full_matrices=False)[2]
        start = words @ axes[:size].T
        self.we = nn.Embedding.from_pretrained(start / start.std(), freeze=False)
        self.c1 = nn.Conv1d(size, width, 3, padding=1)
        self.c2 = nn.Conv1d(width, width, 5, padding=4, dilation=2)
        self.c3 = nn.Conv1d(width, width, 3, padding=4, dilation=4)
        self.register_buffer("dilations", torch.tensor([1.0, 2.0, 4.0]))
        self.drop = nn.Dropout(0.2)
        self.head = nn.Sequential(nn.Linear(3 * width + size, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, LABELS))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        held = mask[:, None].float()
        embedded = self.we(ids).transpose(1, 2) * held
        x, pooled = self.drop(embedded), []
        for convolution in (self.c1, self.c2, self.c3):
            x = F.relu(convolution(x)) * held
            pooled.append(x.max(2).values)
        pooled.append(embedded.sum(2) / held.sum(2))
        return self.head(torch.cat(pooled, -1))


def _copied(module: nn.Module, base: Mapping[str, Tensor], name: str) -> nn.Module:
    module.weight.data = base[name + ".weight"].float().clone()
    module.bias.data = base[name + ".bias"].float().clone()
    return module


def _marked(ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    rows, length = ids.shape
    counts = mask.sum(1)
    marked = torch.zeros(rows, length + 2, dtype=torch.long, device=ids.device)
    marked[:, 1 : length + 1] = ids
    marked[:, 0] = 101
    marked[torch.arange(rows, device=ids.device), counts + 1] = 102
    return marked, torch.arange(length + 2, device=ids.device)[None] < (counts + 2)[:, None]


def _buckets(length: int, device: torch.device) -> Tensor:
    """MPNet's 32 buckets of relative positions: exact up to 8, then logarithmic up to 128."""
    place = torch.arange(length, device=device)
    distance = place[:, None] - place[None, :]  # query - key
    side = (distance < 0).long() * 16
    distance = distance.abs()
    far = 8 + (torch.log(distance.float().clamp(min=1) / 8) / math.log(16) * 8).long()
    return side + torch.where(distance < 8, distance, far.clamp(max=15))
