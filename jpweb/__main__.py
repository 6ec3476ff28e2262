"""``python -m jpweb``, for processes that start others."""

from __future__ import annotations

from jpweb.cli.entrypoint import main

if __name__ == "__main__":
    main()
