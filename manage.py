"""The command line of a checkout: the same as the installed command ``jpweb``."""

from __future__ import annotations

from jpweb.cli.entrypoint import main

if __name__ == "__main__":
    main()
