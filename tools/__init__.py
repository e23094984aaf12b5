"""Setting up a checkout, by the standard library alone: nothing is installed yet.

One thing is taken from Antiphon itself, from `src` as it lies there: the client of the package index, which needs
nothing installed either.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
