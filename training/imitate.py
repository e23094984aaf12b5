"""Students on one GPU: encoders start from the shipped one and imitate the teachers on the windows of
training/teach.py; labels count beside. They stop by the clock, at a rate that has fallen to almost nothing.

    python -m training.imitate encoder --data FOLDER_OF_PREPARE --pool POOL --weights WEIGHTS --out OUT --limit 480
    python -m training.imitate mean    --data … --weights … --out OUT

`mean` takes the mean of OUT/L6-*, the encoders of several seeds, and of that and the shipped encoder: what no row of
today shows is forgotten less. With `--minilm` students start from that file instead of the shipped network.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from training.corpus import DEVICE, Corpus, Texts, batches, log, masked_loss
from training.learning import optimiser, report, step
from training.networks import Encoder
from training.teach import shipped

BATCH = 512
RATES = (1.4e-4, 6e-4)  # body, head
CLOSE = 0.05  # weight of the distance in logits: it keeps the order among the harmless
FARTHEST = 7.0


def student(weights: Path, minilm: Path | None = None) -> Encoder:
    if minilm is None:
        return shipped(weights)
    return Encoder({name: value.float() for name, value in load_file(minilm).items()}).to(DEVICE)


def imitate(model: Encoder, corpus: Corpus, path: Path, seed: int, limit: float, trust: float) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    read = {name: value.to(DEVICE) for name, value in torch.load(path).items()}
    texts = Texts(read["flat"].int(), read["start"], read["length"])
    aim, labels, weight = read["aim"].clamp(-FARTHEST, FARTHEST), read["labels"], read["weight"]
    model.train()
    began, done = time.time(), 0
    at = lambda _: (time.time() - began) / limit  # noqa: E731
    tools = optimiser(model, *RATES, 20 * len(aim) // BATCH, at)
    while at(0) < 1:
        for index in batches(texts.length, BATCH):
            if at(0) >= 1:
                break
            done += 1
            ids, mask = texts.batch(index, 190)
            with torch.autocast(DEVICE.type, torch.bfloat16):
                logits = model(ids, mask).float()
            told = masked_loss(logits, labels[index], weight[index], corpus.balance)
            step(model, (1 - trust) * told + trust * 2 * alike(logits, aim[index], weight[index]), tools)
        log("encoder", seed, done, "batches")
    model.eval()


def alike(logits: Tensor, aim: Tensor, weight: Tensor) -> Tensor:
    each = F.binary_cross_entropy_with_logits(logits, aim.sigmoid(), reduction="none")
    far = F.smooth_l1_loss(logits, aim, reduction="none")
    return ((each + CLOSE * far) * weight[:, None]).mean()


def save(model: nn.Module, path: Path) -> None:
    """Word embeddings of the encoder stay as they are, so they are left out."""
    left_out = ("we.weight",) if isinstance(model, Encoder) else ()
    tensors = {name: value.detach().half().cpu().contiguous() for name, value in model.state_dict().items()}
    if isinstance(model, Encoder):  # positions beyond a window are never asked for
        tensors["pe.weight"] = tensors["pe.weight"][:192].contiguous()
    items = [(name, value) for name, value in tensors.items() if name not in left_out]
    half = len(items) // 2
    save_file(dict(items[:half]), f"{path}_0.safetensors")
    save_file(dict(items[half:]), f"{path}_1.safetensors")


def mean(weights: Path, out: Path, share: float) -> Encoder:
    """Of the encoders of several seeds; and of that (`share`) and the shipped one."""
    model = student(weights)
    firsts = sorted(out.glob("L6-*_0.safetensors"))
    seconds = sorted(out.glob("L6-*_1.safetensors"))
    states = [load_file(one) | load_file(two) for one, two in zip(firsts, seconds, strict=True)]
    middle = {name: torch.stack([state[name].float() for state in states]).mean(0) for name in states[0]}
    shipped = model.state_dict()
    model.load_state_dict(
        {
            name: value.lerp(middle[name].to(DEVICE), share) if name in middle else value
            for name, value in shipped.items()
        }
    )
    return model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["encoder", "mean"])
    for name in ("data", "pool", "weights", "minilm", "out"):
        parser.add_argument("--" + name, type=Path)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--limit", type=float, default=480, help="seconds of training")
    parser.add_argument("--trust", type=float, default=0.8, help="in the teachers; the rest in labels")
    parser.add_argument("--share", type=float, default=0.6, help="of the new encoder in the mean")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    corpus = Corpus(options.data, options.every)
    if options.kind == "mean":
        name, model = "L6", mean(options.weights, options.out, options.share)
    else:
        model = student(options.weights, options.minilm)
        imitate(model, corpus, options.pool, options.seed, options.limit, options.trust)
        name = f"L6-{options.seed}"
    save(model, options.out / name)
    report(name, [model], corpus, options.data / "dev.npz", options.out)
    log("done")


if __name__ == "__main__":
    main()
