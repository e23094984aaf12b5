"""The choice of uv's wheel for a machine, from names as the index lists them."""

from __future__ import annotations

import pytest

from antiphon.supply.package_index import IndexFile, PackageIndexFault
from tools.uv import VERSION, choose_wheel

TAGS = (
    "linux_armv6l",
    "macosx_10_12_x86_64",
    "macosx_11_0_arm64",
    "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "manylinux_2_17_i686.manylinux2014_i686",
    "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "musllinux_1_1_i686",
    "musllinux_1_1_x86_64",
    "win_amd64",
)
OTHERS = [IndexFile(f"uv-{VERSION}.tar.gz", "", ""), IndexFile("uv-0.0.5-py3-none-musllinux_1_1_x86_64.whl", "", "")]
FILES = OTHERS + [IndexFile(f"uv-{VERSION}-py3-none-{tag}.whl", "", "") for tag in TAGS]


@pytest.mark.parametrize(
    ("system", "machine", "musl", "tag"),
    [
        ("linux", "x86_64", False, "manylinux_2_17_x86_64.manylinux2014_x86_64"),
        ("linux", "x86_64", True, "musllinux_1_1_x86_64"),
        ("linux", "aarch64", False, "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"),
        ("linux", "arm64", True, "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"),
        ("darwin", "arm64", False, "macosx_11_0_arm64"),
    ],
)
def test_the_wheel_of_this_machine_is_chosen(system: str, machine: str, musl: bool, tag: str) -> None:
    assert choose_wheel(FILES, system, machine, musl=musl).name == f"uv-{VERSION}-py3-none-{tag}.whl"


def test_the_static_binary_serves_where_no_other_does() -> None:
    files = [file for file in FILES if "manylinux" not in file.name]
    assert "musllinux_1_1_x86_64" in choose_wheel(files, "linux", "x86_64", musl=False).name


def test_a_machine_without_a_wheel_is_named() -> None:
    with pytest.raises(PackageIndexFault, match="riscv64"):
        choose_wheel(FILES, "linux", "riscv64", musl=False)
