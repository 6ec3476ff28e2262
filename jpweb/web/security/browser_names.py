"""Names of browsers and systems, by the User-Agent header.

The header is hostile: nothing of it is kept but which of these names it contains.
"""

from __future__ import annotations

#: Parts of the header and names; browsers also name those that they descend from, so the first
#: part that is found counts.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)


def describe_browser(user_agent: str) -> str:
    """Return such as "Firefox on Windows"; empty where neither part is known."""
    browser, system = _find_name(_BROWSERS, user_agent), _find_name(_SYSTEMS, user_agent)
    return " on ".join(name for name in (browser, system) if name)


def _find_name(names: tuple[tuple[str, str], ...], user_agent: str) -> str:
    return next((name for part, name in names if part in user_agent), "")
