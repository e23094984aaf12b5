from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.evaluators.protected.build import Builder
from antiphon.evaluators.protected.index import PACKAGED, ProtectedIndex
from antiphon.evaluators.protected.layout import HEADER, MAGIC, IndexFault
from antiphon.evaluators.protected.winnow import CODE, fingerprints
from antiphon.safety.verdict import Citation


def test_every_fingerprint_of_the_corpus_is_found(index: ProtectedIndex, corpus: Path) -> None:
    for path in corpus.iterdir():
        for print in fingerprints(CODE, path.read_text()):
            document = index.find(print.key)
            assert document is not None
            assert document.path == path.name
            assert document.citation == Citation(f"https://example.org/{path.name}", "GPL-3.0-or-later")


@given(key=st.integers(0, 2**40 - 1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_other_keys_are_not(index: ProtectedIndex, key: int) -> None:
    assert index.find(key) is None  # 1,000 keys of 2 ** 40: chance does not meet one


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not an Antiphon index"),
        (b"\x7fELF" + bytes(100), "not an Antiphon index"),
        (MAGIC, "header is not whole"),
        (MAGIC.replace(b"\r\n", b"\n") + bytes(100), "header is not whole"),
        (HEADER.pack(MAGIC, 9, 1, 2, 25, 20, 0, 0, 0, 0), "version 9"),
        (HEADER.pack(MAGIC, 1, 7, 2, 25, 20, 0, 0, 0, 0), "makes no sense"),
        (HEADER.pack(MAGIC, 1, 1, 2, 25, 20, 2**60, 5, 5, 0), "it has 64 bytes"),
    ],
)
def test_foreign_files_are_refused(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(data)
    with pytest.raises(IndexFault, match=words) as fault:
        ProtectedIndex.load(path)
    assert str(fault.value).startswith(str(path))


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_one_wrong_byte_is_noticed(index_file: Path, tmp_path: Path, data: st.DataObject) -> None:
    whole = bytearray(index_file.read_bytes())
    place = data.draw(st.integers(0, len(whole) - 1).filter(lambda place: not HEADER.size - 20 <= place < HEADER.size))
    whole[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path / "damaged"
    path.write_bytes(whole)
    with pytest.raises(IndexFault):
        ProtectedIndex.load(path)


@given(length=st.integers(0, 2000))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_a_cut_file_is_refused(index_file: Path, tmp_path: Path, length: int) -> None:
    path = tmp_path / "cut"
    path.write_bytes(index_file.read_bytes()[:length])
    with pytest.raises(IndexFault):
        ProtectedIndex.load(path)


def test_an_empty_index_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(IndexFault, match="nothing to index"):
        Builder(CODE).write(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_the_packaged_index() -> None:
    index = ProtectedIndex.load(PACKAGED)
    assert index.sieve == CODE
    assert len(index) > 500_000
    assert PACKAGED.stat().st_size <= 4_000_000
    licences = {document.citation.license for document in index.documents}
    assert {"GPL-2.0-only", "GPL-3.0-or-later", "AGPL-3.0-or-later"} <= licences
    assert all(document.citation.url.startswith("https://") for document in index.documents)
