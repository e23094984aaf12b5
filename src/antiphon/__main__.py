"""`python -m antiphon` is the command."""

from antiphon.cli import main

raise SystemExit(main())
