"""The tools run before anything is installed: by the standard library and what lies in the checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CODE = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import tools.bootstrap, antiphon
print(antiphon.__file__)
foreign = {{name.partition(".")[0] for name in sys.modules}} - set(sys.stdlib_module_names) - {{"__main__"}}
print(*sorted(foreign))
"""


def test_set_up_needs_no_package() -> None:
    """-I and -S: no environment's packages, no user's, no current folder."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", CODE], capture_output=True, text=True, cwd="/")
    assert done.stdout.splitlines() == [str(ROOT / "src/antiphon/__init__.py"), "antiphon tools"], done.stderr
