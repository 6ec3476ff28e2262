from __future__ import annotations

from jpweb.store.jp_files.config.reader import ConfigFiles, read_config
from jpweb.store.jp_files.config.sources import DEFAULT_EXTENDS
from jpweb.store.jp_files.config.toml_parser import parse_toml

__all__ = ["DEFAULT_EXTENDS", "ConfigFiles", "parse_toml", "read_config"]
