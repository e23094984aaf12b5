"""Verdicts on texts that were judged before. A conversation is sent again with every turn: only what is new costs.

Texts are known by their digests; none is kept.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b

from antiphon.safety.verdict import Stage, Verdict


def digest(stage: Stage, text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, person=stage.value.encode()).digest()


class VerdictCache:
    """The `most` verdicts that were needed last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._verdicts: OrderedDict[bytes, Verdict] = OrderedDict()

    def __len__(self) -> int:
        return len(self._verdicts)

    def find(self, key: bytes) -> Verdict | None:
        verdict = self._verdicts.get(key)
        if verdict is not None:
            self._verdicts.move_to_end(key)
        return verdict

    def keep(self, key: bytes, verdict: Verdict) -> None:
        self._verdicts[key] = verdict
        if len(self._verdicts) > self._most:
            self._verdicts.popitem(last=False)
