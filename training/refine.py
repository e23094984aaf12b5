"""The shipped encoder learns further on one CPU core: its upper layers and its head, from where they stand (an hour).

    python -m training.refine windows --data SAFETY_DATA --weights WEIGHTS --cache FILE     (what is read, once)
    python -m training.refine train   --weights WEIGHTS --cache FILE --out FOLDER           (writes encoder.onnx)
    python -m training.refine mix     --weights WEIGHTS --cache FOLDER/encoder.onnx --out FOLDER [--share .5]

For rows that were added after the last full training (training/train.py, which wants a GPU). The lower layers stay as
they are, so their outputs are computed once. Old rows are read again beside the new ones, and the encoder's own former
opinion of them holds it where their labels say nothing. `mix` takes the mean of the former and the new tensors: most of
what was learnt stays, and less of what was known is lost.
"""

# ruff: noqa: S311 - chance is no secret here
from __future__ import annotations

import argparse
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import torch
import torch.nn.functional as F
from onnx import numpy_helper
from torch import Tensor, nn

from training.data import OTHER_LANGUAGES, read_gathered, read_rows
from training.networks import Layer
from training.prepare import Encoder as Tokens
from training.prepare import own_rows

KEPT = 3  # lower layers that stay as they are
LAYERS, WIDTH = 6, 384
LONGEST, WINDOW = 128, 190
# How many windows of each source are read; of others so many, by the square root of what there is.
MOST = {"public_fiction": 5_000, "public_prompts": 3_200, "public_genres": 1_800, "public_web": 900}
PUBLIC, OLD = 900, 26_000
BATCH = 48
RATE, HEAD_RATE = 6e-5, 4e-4
NEW_SOURCES = (
    "threat2", "incite", "praise", "request", "gore2", "comply", "quoted", "play", "story", "metaphor",
    "contempt", "fair2", "lewd", "decent", "inject", "uninjected", "system", "suffix",
)  # fmt: skip


def is_new(source: str) -> bool:
    name = source.removeprefix("own_")
    return name in NEW_SOURCES or name.startswith(("care_", "report_")) or source.startswith("public_")


def chosen(data: Path, gathered: Path, chance: random.Random) -> list[dict[str, Any]]:
    """Rows by source: all new ones of our own, many of the public ones, and old ones so that no source is forgotten."""
    public = read_gathered(gathered)
    rows = read_rows(data)
    own, _ = own_rows(rows, [row["text"] for row in public if row["src"] == "public_documents"])
    foreign = {source for sources in OTHER_LANGUAGES.values() for source in sources} | {"multijail"}
    by_source: dict[str, list[dict[str, Any]]] = {}
    for row in [row for row in rows if row["src"] not in foreign] + own + public:
        by_source.setdefault(row["src"], []).append(row)
    old = {name: len(rows) ** 0.5 for name, rows in by_source.items() if not is_new(name)}
    share = OLD / sum(old.values())
    picked: list[dict[str, Any]] = []
    for name, found in by_source.items():
        chance.shuffle(found)
        fresh = MOST.get(name, PUBLIC if name.startswith("public_") else len(found))
        picked += found[: fresh if is_new(name) else int(share * old[name])]
    return picked


def windows(data: Path, gathered: Path, weights: Path, cache: Path) -> None:
    chance = random.Random(17)
    rows = chosen(data, gathered, chance)
    encode = Tokens(weights)
    ids = [encode.tokens.encode(encode.normalise(row["text"])) or [100] for row in rows]
    benign = [tokens for tokens, row in zip(ids, rows, strict=True) if not any(row["y"])]
    read: list[list[int]] = []
    labels: list[list[int]] = []
    for tokens, row in zip(ids, rows, strict=True):
        start = chance.randrange(max(1, len(tokens) - LONGEST)) if chance.random() < 0.5 else 0
        part = tokens[start : start + LONGEST]
        dice, y = chance.random(), row["y"]
        if dice < 0.12 and len(part) < 100:  # amid harmless text
            around = chance.choice(benign)[: chance.choice([24, 48, 80])]
            part = (around + part if dice < 0.06 else part + around)[:WINDOW]
        elif start or len(tokens) > len(part):  # its harm may lie outside
            y = [-1 if label == 1 else label for label in y]
        read.append(part)
        labels.append(y)
    hidden, logits = lower(weights / "encoder.onnx", read)
    bounds = np.cumsum([0] + [len(part) + 2 for part in read])
    new = np.array([is_new(row["src"]) for row in rows])
    names = np.array([row["src"] for row in rows])
    np.savez(cache, h=hidden, o=bounds, y=np.array(labels, dtype=np.int8), z=logits, new=new, src=names)
    flat = np.concatenate([np.array(part, dtype=np.uint16) for part in read])
    np.savez(cache.with_suffix(".ids.npz"), f=flat, o=np.cumsum([0] + [len(part) for part in read]))
    print(len(read), "windows,", int(bounds[-1]), "tokens, new", int(new.sum()))


def lower(path: Path, read: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """What the layers that stay say of each window, and the former logits."""
    model = onnx.load(str(path))
    name = f"L.{KEPT - 1}.l2"
    model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, "length", WIDTH]))
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options)
    hidden, logits = [], []
    for part in read:
        z, h = session.run(["logits", name], {"ids": np.array([[101, *part, 102]], dtype=np.int64)})
        hidden.append(h[0].astype(np.float16))
        logits.append(z[0])
    return np.concatenate(hidden), np.array(logits)


class Upper(nn.Module):
    def __init__(self, stored: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.L = nn.ModuleList(_layer(stored, f"L.{index}.") for index in range(KEPT, LAYERS))
        self.head = nn.Sequential(nn.Linear(2 * WIDTH, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 5))
        for linear, name in ((self.head[0], "head.0"), (self.head[3], "logits")):
            linear.weight.data = torch.tensor(stored[name + ".w"].T.copy())
            linear.bias.data = torch.tensor(stored[name + ".b"].copy())

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        bias = torch.zeros(mask.shape).masked_fill(~mask, -1e4)[:, None, None, :]
        for layer in self.L:
            x = layer(x, bias)
        held = mask[..., None].to(x.dtype)
        mean = (x * held).sum(1) / held.sum(1)
        return self.head(torch.cat([mean, x.masked_fill(~mask[..., None], -1e4).max(1).values], -1))


def _layer(stored: dict[str, np.ndarray], p: str) -> Layer:
    layer = Layer(WIDTH, 12, 1e-12)
    wide, bias = widened(stored, p + "qkv.w"), stored[p + "qkv.b"]
    for index, linear in enumerate((layer.q, layer.k, layer.v)):
        part = slice(index * WIDTH, (index + 1) * WIDTH)
        linear.weight.data, linear.bias.data = torch.tensor(wide[:, part].T.copy()), torch.tensor(bias[part].copy())
    for linear, name, offset in ((layer.o, "o.w", "o.bias"), (layer.i, "i.w", "i.b"), (layer.w, "w.w", "w.bias")):
        linear.weight.data = torch.tensor(widened(stored, p + name).T.copy())
        linear.bias.data = torch.tensor(stored[p + offset].copy())
    for norm, name in ((layer.l1, "l1"), (layer.l2, "l2")):
        norm.weight.data = torch.tensor(stored[f"{p}{name}.w"].copy())
        norm.bias.data = torch.tensor(stored[f"{p}{name}.b"].copy())
    return layer


def widened(stored: dict[str, np.ndarray], name: str) -> np.ndarray:
    """int8 with a scale for each column."""
    return np.asarray(stored[name + "_quantized"].astype(np.float32) * stored[name + "_scale"], dtype=np.float32)


def train(weights: Path, cache: Path, out: Path, epochs: int, seconds: float) -> None:
    torch.manual_seed(1)
    torch.set_num_threads(1)
    random.seed(1)
    model_file = onnx.load(str(weights / "encoder.onnx"))
    model = Upper({item.name: numpy_helper.to_array(item) for item in model_file.graph.initializer}).train()
    data = np.load(cache)
    hidden, bounds, labels = data["h"], data["o"], torch.tensor(data["y"].astype(np.float32))
    former, new = torch.tensor(data["z"]).sigmoid(), torch.tensor(data["new"])
    _, source = np.unique(data["src"], return_inverse=True)
    weight = torch.tensor(np.sqrt(np.minimum(1.0, 900 / np.bincount(source)))[source].astype(np.float32))
    positive, negative = (labels == 1).sum(0), (labels == 0).sum(0)
    balance = (negative / positive).sqrt().clamp(max=5)
    lengths = np.diff(bounds)
    groups = [{"params": model.L.parameters(), "lr": RATE}, {"params": model.head.parameters(), "lr": HEAD_RATE}]
    tool = torch.optim.AdamW(groups, weight_decay=0.01)
    rates = [group["lr"] for group in groups]
    began, done = time.time(), 0
    held = np.random.RandomState(0).permutation(len(lengths))[: len(lengths) // 40]
    free = np.setdiff1d(np.flatnonzero(drawn(data["src"])), held)
    steps = epochs * (len(free) // BATCH)
    while done < steps and time.time() - began < seconds:
        for index in batches(free, lengths):
            at = max(done / steps, (time.time() - began) / seconds)
            if at >= 1:
                break
            for group, rate in zip(tool.param_groups, rates, strict=True):
                group["lr"] = rate * min(1.0, (done + 1) / 60) * max(0.03, 1 - at)
            logits = model(*batch(hidden, bounds, index))
            loss = loss_of(logits, labels[index], former[index], new[index], weight[index], balance)
            tool.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            tool.step()
            done += 1
            if done % 100 == 0:
                print(f"[{time.time() - began:.0f} s] {done} of {steps}, loss {loss.item():.3f}", flush=True)
    check(model.eval(), hidden, bounds, labels, held)
    write(model, model_file, out / "encoder.onnx")


def drawn(sources: np.ndarray) -> np.ndarray:
    """Which windows one pass reads: time is short, and our own new rows are few."""
    chance = np.random.RandomState(2).rand(len(sources))
    share = [1.0 if name.startswith("own_") and is_new(name) else 0.55 if is_new(name) else 0.4 for name in sources]
    return np.asarray(chance < np.array(share))


def batches(rows: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    order = np.random.permutation(rows)
    made = []
    for at in range(0, len(order), BATCH * 30):
        chunk = order[at : at + BATCH * 30]
        chunk = chunk[np.argsort(lengths[chunk])]
        made += [chunk[i : i + BATCH] for i in range(0, len(chunk), BATCH)]
    random.shuffle(made)
    return made


def batch(hidden: np.ndarray, bounds: np.ndarray, index: np.ndarray) -> tuple[Tensor, Tensor]:
    longest = int((bounds[index + 1] - bounds[index]).max())
    x = np.zeros((len(index), longest, WIDTH), dtype=np.float32)
    mask = np.zeros((len(index), longest), dtype=bool)
    for row, i in enumerate(index):
        part = hidden[bounds[i] : bounds[i + 1]]
        x[row, : len(part)], mask[row, : len(part)] = part, True
    return torch.from_numpy(x), torch.from_numpy(mask)


def loss_of(logits: Tensor, labels: Tensor, former: Tensor, new: Tensor, weight: Tensor, balance: Tensor) -> Tensor:
    """Labels where they are known; the former opinion of old rows, and where nothing is known."""
    known = (labels >= 0).float()
    told = F.binary_cross_entropy_with_logits(logits, labels.clamp(min=0), reduction="none", pos_weight=balance)
    same = F.binary_cross_entropy_with_logits(logits, former, reduction="none")
    fresh = new.float()[:, None]
    each = fresh * (known * told + (1 - known) * 0.5 * same) + (1 - fresh) * (known * 0.4 * told + 1.2 * same)
    return (each * weight[:, None]).sum() / weight.sum()


@torch.no_grad()
def check(model: Upper, hidden: np.ndarray, bounds: np.ndarray, labels: Tensor, held: np.ndarray) -> None:
    scores = torch.cat([model(*batch(hidden, bounds, part)) for part in np.array_split(held, max(1, len(held) // 48))])
    for label in range(5):
        known = labels[held, label] >= 0
        hits = labels[held, label][known][torch.argsort(-scores[known, label])].numpy()
        found = float((np.cumsum(hits) / np.arange(1, len(hits) + 1) * hits).sum() / max(1, hits.sum()))
        print("held back, label", label, "average precision", round(found, 4))


def write(model: Upper, file: Any, path: Path) -> None:
    """The graph stays; the tensors of the upper layers change, quantised as they were."""
    made: dict[str, np.ndarray] = {}
    for number, layer in enumerate(model.L, start=KEPT):
        p = f"L.{number}."
        three = (layer.q, layer.k, layer.v)
        quantised(made, p + "qkv.w", np.concatenate([f.weight.detach().numpy().T for f in three], axis=1))
        made[p + "qkv.b"] = np.concatenate([f.bias.detach().numpy() for f in three])
        for linear, name, offset in ((layer.o, "o.w", "o.bias"), (layer.i, "i.w", "i.b"), (layer.w, "w.w", "w.bias")):
            quantised(made, p + name, linear.weight.detach().numpy().T)
            made[p + offset] = linear.bias.detach().numpy()
        for norm, name in ((layer.l1, "l1"), (layer.l2, "l2")):
            made[f"{p}{name}.w"], made[f"{p}{name}.b"] = norm.weight.detach().numpy(), norm.bias.detach().numpy()
    for linear, name in ((model.head[0], "head.0"), (model.head[3], "logits")):
        made[name + ".w"], made[name + ".b"] = linear.weight.detach().numpy().T, linear.bias.detach().numpy()
    for item in file.graph.initializer:
        if item.name in made:
            item.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(made[item.name]), item.name))
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(file, str(path))


def mix(weights: Path, new: Path, out: Path, share: float) -> None:
    files = [onnx.load(str(path)) for path in (weights / "encoder.onnx", new)]
    before, after = (Upper({i.name: numpy_helper.to_array(i) for i in file.graph.initializer}) for file in files)
    theirs = after.state_dict()
    before.load_state_dict({name: value.lerp(theirs[name], share) for name, value in before.state_dict().items()})
    write(before, files[0], out / "encoder.onnx")


def quantised(made: dict[str, np.ndarray], name: str, weight: np.ndarray) -> None:
    scale = (np.abs(weight).max(axis=0) / 127).astype(np.float32)
    made[name + "_scale"] = scale
    made[name + "_quantized"] = np.round(weight / scale).clip(-127, 127).astype(np.int8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=["windows", "train", "mix"])
    for name in ("data", "gathered", "weights", "cache", "out"):
        parser.add_argument("--" + name, type=Path)
    parser.add_argument("--share", type=float, default=0.5, help="of the new tensors in a mix")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1_800, help="when training must be done")
    options = parser.parse_args()
    if options.step == "windows":
        windows(options.data, options.gathered or options.data, options.weights, options.cache)
    elif options.step == "mix":
        mix(options.weights, options.cache, options.out, options.share)
    else:
        train(options.weights, options.cache, options.out, options.epochs, options.seconds)


if __name__ == "__main__":
    main()
