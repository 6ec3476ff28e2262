"""Settings, all from the environment; ``docs/operations.md`` names every variable.

``JPWEB_DATA`` is the folder that holds everything of an installation: by default ``./var`` of a
checkout, or the user's data folder where jpweb is installed.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.http.request import split_domain_port

from jpweb import data_folder, identity_providers, installation
from jpweb.number_settings import MAX_DAYS, MAX_HOURS, MAX_PORT, MAX_SECONDS, read_number
from jpweb.text_settings import (
    parse_address,
    read_database,
    read_destinations,
    read_folders,
    read_hosts,
    read_list,
    read_log_level,
    read_path,
    read_site_url,
    read_switch,
    read_text,
)

#: The folder that holds ``templates``, ``static`` and ``docs``.
BASE_DIR = installation.RESOURCE_DIR
DATA_DIR = read_path("JPWEB_DATA", installation.find_default_data_dir())
PORT = int(read_number("JPWEB_PORT", 8000, 1, MAX_PORT))
_KEY_PATH = DATA_DIR / "secret-key"


def _load_secret_key() -> str:
    """Return the installation's secret key, created on first use, readable by its owner alone.

    White space around it is part of the key: an installation that began with it keeps its key.
    """
    try:
        data_folder.make_folder(DATA_DIR)
        if not _KEY_PATH.exists():
            data_folder.create_secret_key(_KEY_PATH)
        key = _KEY_PATH.read_text()
    except OSError as error:
        raise _make_data_dir_error(error) from error
    except UnicodeDecodeError:
        raise ImproperlyConfigured(
            f"{_KEY_PATH} is no text: put back the copy of this file, or set JPWEB_SECRET_KEY."
        ) from None
    if not key.strip():
        raise ImproperlyConfigured(
            f"{_KEY_PATH} is empty: put back the copy of this file, or set JPWEB_SECRET_KEY."
        )
    return key


def _prepare_folder(database: Path) -> None:
    """Create the data folder of SQLite's file, without which commands would fail."""
    if DATA_DIR in database.parents:
        try:
            data_folder.make_folder(database.parent)
        except OSError as error:
            raise _make_data_dir_error(error) from error


def _close_folder() -> list[str]:
    """Close the data folder to other users; return the paths that were open to them."""
    try:
        return data_folder.close_folder(DATA_DIR)
    except OSError as error:
        raise _make_data_dir_error(error) from error


def _make_data_dir_error(error: OSError) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"JPWEB_DATA cannot be used: {error.filename}: {error.strerror}.")


# Statements by ``JPWEB_SYNC``. Without ``fullfsync`` the sync of macOS ends in the disk's cache.
_SYNC_PRAGMAS = {
    "full": "PRAGMA synchronous=FULL; PRAGMA fullfsync=ON; PRAGMA checkpoint_fullfsync=ON;",
    "normal": "PRAGMA synchronous=NORMAL;",
}


def _read_sync_pragmas() -> str:
    """Return the statements by which SQLite syncs at each commit, or at the checkpoint alone."""
    sync = read_text("JPWEB_SYNC", "full")
    if sync not in _SYNC_PRAGMAS:
        raise ImproperlyConfigured(f"JPWEB_SYNC must be full or normal, not “{sync}”.")
    return _SYNC_PRAGMAS[sync]


def _check_runs(runs: str) -> None:
    """Refuse an unknown ``JPWEB_RUNS``, and workers without PostgreSQL or Redis."""
    if runs not in ("embedded", "workers"):
        raise ImproperlyConfigured(f"JPWEB_RUNS must be embedded or workers, not “{runs}”.")
    requirements = {
        "PostgreSQL (DATABASE_URL=postgres://USER@HOST/NAME)": "postgresql"
        in DATABASES["default"]["ENGINE"],
        "Redis (REDIS_URL=redis://HOST)": bool(REDIS_URL),
    }
    needs = [requirement for requirement, is_met in requirements.items() if not is_met]
    if runs == "workers" and needs:
        raise ImproperlyConfigured(
            f"JPWEB_RUNS=workers needs {' and '.join(needs)}. "
            f"To try it on one machine: {installation.TEAM_COMMAND}"
        )


SECRET_KEY = read_text("JPWEB_SECRET_KEY") or _load_secret_key()
#: Where the key is from, for ``jpweb.web.checks``: the variable or the file.
SECRET_KEY_SOURCE = "JPWEB_SECRET_KEY" if read_text("JPWEB_SECRET_KEY") else str(_KEY_PATH)
DEBUG = False
ALLOWED_HOSTS = read_hosts("JPWEB_HOSTS", ["127.0.0.1", "localhost", "[::1]"])

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "django_htmx",
    # The client of OpenID Connect. Its tables stay empty: `store` holds identities itself.
    "allauth.account",
    "allauth.socialaccount",
    # Only packages in which Django discovers models, tags or commands; others are plain Python.
    "jpweb.store",
    "jpweb.web",
    "jpweb.cli",
    "jpweb.cli.accounts",
    "jpweb.cli.evidence",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "jpweb.web.middleware.SessionOutageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "jpweb.web.security.cache_headers.PrivatePages",
    "jpweb.web.middleware.DatabaseOutageMiddleware",
    "jpweb.web.middleware.FormAddressPages",
]

ROOT_URLCONF = "jpweb.urls"
ASGI_APPLICATION = "jpweb.asgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "jpweb.web.context_processors.describe_navigation",
            ],
        },
    },
]

# Seconds that a write to SQLite waits for the write lock (busy timeout).
SQLITE_LOCK_SECONDS = 5
# Seconds that a PostgreSQL statement may take, and that a page or a turn waits for its reply.
STATEMENT_SECONDS = read_number("JPWEB_STATEMENT_SECONDS", 30, 0.1, MAX_SECONDS)
DATABASES = {"default": read_database("DATABASE_URL", DATA_DIR / "jpweb.sqlite3")}
IS_SQLITE = DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3"
_sync_pragmas = _read_sync_pragmas()
if IS_SQLITE:
    DATABASES["default"]["ENGINE"] = "jpweb.store.database"  # its module base.py
    _prepare_folder(Path(DATABASES["default"]["NAME"]))
    DATABASES["default"]["CONN_MAX_AGE"] = None  # each thread keeps the file open
    # In SQLite's default mode (DEFERRED) a read that becomes a write fails instead of waiting.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": SQLITE_LOCK_SECONDS,
        "init_command": f"PRAGMA journal_mode=WAL; {_sync_pragmas}",
    }
else:
    from jpweb.store.database.timeout_connections import make_pool_options
    from jpweb.store.database.timeouts import make_connection_options

    _options = make_connection_options(STATEMENT_SECONDS, DATABASES["default"].get("OPTIONS", {}))
    DATABASES["default"]["OPTIONS"] = _options | {
        "pool": make_pool_options(STATEMENT_SECONDS, min_size=1, max_size=10, timeout=5),
    }
    # The pool replaces a dead connection before a request gets it.
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True

# Paths of the folder that were open to other users; ``CliConfig.ready`` logs them.
CLOSED_PATHS = _close_folder()

REDIS_URL = read_text("REDIS_URL")
# For signals between processes; inside one, jpweb/runtime/broadcast dispatches them.
CHANNEL_LAYERS: dict[str, dict[str, Any]] = {}
if REDIS_URL:
    from redis.connection import parse_url  # which takes a quarter of a second

    parse_address("REDIS_URL", REDIS_URL, parse_url, "redis://HOST")
    CHANNEL_LAYERS["default"] = {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        # Encrypted and authenticated, because partial texts of replies pass through Redis.
        "CONFIG": {
            "hosts": [REDIS_URL],
            "symmetric_encryption_keys": [f"jpweb channel layer\n{SECRET_KEY}"],
        },
    }

# Runs execute in the server ("embedded") or in worker processes ("workers": `jpweb work`).
RUN_MODE = read_text("JPWEB_RUNS", "embedded")
_check_runs(RUN_MODE)
if RUN_MODE == "workers":
    INSTALLED_APPS.append("procrastinate.contrib.django")

# The file to which signed heads of the ledger are appended, and the notification address that gets
# them. Kept outside the database, they show that its tail was cut off.
LEDGER_HEADS = read_path("JPWEB_LEDGER_HEADS", DATA_DIR / "ledger-heads.jsonl")
LEDGER_HEAD_URL = read_text("JPWEB_LEDGER_HEAD_URL")
# Days after which entries of page views, searches and sign-ins are cleared; 0: never.
LEDGER_READ_DAYS = read_number("JPWEB_LEDGER_READ_DAYS", 0, 0, MAX_DAYS)
#: Whether new events are searched for secrets, which pages then mask.
DETECT_SECRETS = read_switch("JPWEB_DETECT_SECRETS", default=True)

# Seconds until a run's lease expires without a renewal.
LEASE_SECONDS = read_number("JPWEB_LEASE_SECONDS", 15, 1, MAX_SECONDS, earlier_name="JPWEB_LEASE")
# Seconds after which a run that only waits for people is parked.
PARK_AFTER_SECONDS = read_number(
    "JPWEB_PARK_AFTER_SECONDS", 30, 0, MAX_SECONDS, earlier_name="JPWEB_HOLD"
)
# Seconds in which a person can undo an answer that they gave by one press; 0: sent at once.
UNDO_SECONDS = read_number("JPWEB_UNDO_SECONDS", 5, 0, MAX_SECONDS, earlier_name="JPWEB_UNDO")

# OpenID Connect providers that sign people in, by name.
OIDC_PROVIDERS = identity_providers.read_providers(read_text("JPWEB_OIDC"), os.environ)

AUTH_USER_MODEL = "store.Person"
AUTHENTICATION_BACKENDS = [
    "jpweb.store.people.person_backend.PersonBackend",
    "django.contrib.auth.backends.ModelBackend",  # named by sessions of earlier versions
]
LOGIN_URL = "sign-in"
SESSION_COOKIE_NAME = "jpweb_session"
CSRF_COOKIE_NAME = "jpweb_csrf"
SESSION_ENGINE = "jpweb.store.people.sessions"
# Seconds until a sign-in ends; seconds until it ends without a request.
SESSION_COOKIE_AGE = int(read_number("JPWEB_SESSION_DAYS", 30, 0.01, MAX_DAYS) * 86_400)
SESSION_IDLE_SECONDS = read_number("JPWEB_IDLE_HOURS", 12, 0.01, MAX_HOURS) * 3600
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
# Equal, so that Django writes no temporary file; jpweb/cli/http_limits.py refuses larger bodies.
FILE_UPLOAD_MAX_MEMORY_SIZE = DATA_UPLOAD_MAX_MEMORY_SIZE

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "font-src": [SELF],
        "manifest-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

#: Contains a digest of all static files, so that browsers can cache each address forever.
STATIC_URL = f"static/{installation.compute_static_version()}/"
STATICFILES_DIRS = [BASE_DIR / "static", ("pictures", installation.PICTURES_DIR)]
WHITENOISE_USE_FINDERS = True
# WhiteNoise gives its small files as synchronous iterators; Django warned of that in the log.
warnings.filterwarnings("ignore", r"Streaming\w+ must consume synchronous iterators")
WHITENOISE_IMMUTABLE_FILE_TEST = r"^/static/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# The model for workspaces that configure none: provider/name. Providers are the keys of
# jpweb.agent.providers.PROVIDERS, and "scripted", which has one model.
PROVIDER, _, MODEL = read_text("JPWEB_MODEL", "scripted/script").partition("/")
# Seconds between the pieces that the scripted provider sends.
SCRIPT_PACE_SECONDS = read_number(
    "JPWEB_SCRIPT_PACE_SECONDS", 0.03, 0, MAX_SECONDS, earlier_name="JPWEB_SCRIPT_PACE"
)

# The public address of this installation, with which links in messages begin. With https a
# reverse proxy terminates TLS, and has to set X-Forwarded-Proto.
PUBLIC_URL = f"http://127.0.0.1:{PORT}"
if (_site := read_site_url("JPWEB_URL")) is not None:
    PUBLIC_URL = _site.geturl()
    ALLOWED_HOSTS.append(split_domain_port(_site.netloc)[0])
    if _site.scheme == "https":
        CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
        CSRF_COOKIE_SECURE = SESSION_COOKIE_SECURE = True
        # Browsers accept a __Host- cookie from this host alone, over https.
        SESSION_COOKIE_NAME = f"__Host-{SESSION_COOKIE_NAME}"
        CSRF_COOKIE_NAME = f"__Host-{CSRF_COOKIE_NAME}"
        SECURE_HSTS_SECONDS = 60 * 60 * 24 * 365
        SECURE_HSTS_INCLUDE_SUBDOMAINS = True
        SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# Folders whose workspaces the first person may add on a page: all on one person's machine, none for
# a team, whose people may not all read what this process can.
_is_for_a_team = _site is not None or RUN_MODE == "workers" or not IS_SQLITE
WORKSPACE_ROOTS = read_folders("JPWEB_WORKSPACE_ROOTS", "" if _is_for_a_team else "/")
# Allowed Apprise schemas: by others, a member could have this server send anything or write files.
_SERVICES = (
    *("mailto", "mailtos", "slack", "ntfy", "ntfys", "discord", "workflow", "workflows", "tgram"),
    *("matrix", "matrixs", "mmost", "mmosts", "rocket", "rockets", "gchat", "webex", "zulip"),
    *("nctalk", "nctalks", "signal", "signals", "gotify", "gotifys", "pover", "pbul", "prowl"),
)
NOTIFY_SCHEMAS = tuple(name.lower() for name in read_list("JPWEB_NOTIFY_SCHEMAS", _SERVICES))
# Hosts and networks that notifications may reach though they are private, such as a mail server.
NOTIFY_PRIVATE = read_destinations("JPWEB_NOTIFY_PRIVATE")

# Loggers of libraries that log request contents: conversations, answers to secret questions,
# keys. They are disabled at every level, and jpweb logs the errors itself.
# "client" and "server" are two loggers of the MCP library.
MUTE = (
    *("mcp", "client", "server", "httpx", "httpx2", "httpcore", "httpcore2"),
    *("anthropic", "openai", "google", "google_genai", "pydantic_ai", "genai-prices", "urllib3"),
    *("apprise", "requests", "requests_oauthlib", "oauthlib", "allauth"),
)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "class": "jpweb.web.security.log_formatter.LineFormatter",
            "format": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        }
    },
    "filters": {"abandoned": {"()": "jpweb.web.security.log_filters.AbandonedRequestFilter"}},
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "line"},
        "nowhere": {"class": "logging.NullHandler"},
        "refusals": {"class": "jpweb.web.security.rate_limits.RefusedRequestHandler"},
    },
    "loggers": {
        **{
            name: {"handlers": ["nowhere"], "propagate": False, "level": "CRITICAL"}
            for name in MUTE
        },
        "asyncio": {"filters": ["abandoned"]},
        # It warns of every attempt to connect; the final error suffices.
        "psycopg.pool": {"level": "ERROR"},
        # It logs a traceback for each lost connection; the worker logs one line.
        "procrastinate": {"level": "CRITICAL"},
        # It logs a traceback each second of an outage; our channel_layer module logs it once.
        "channels_redis.pubsub": {"level": "CRITICAL"},
        # One line per security event, whatever JPWEB_LOG_LEVEL is.
        "jpweb.security": {"level": "INFO"},
        "django.security": {"handlers": ["refusals"], "propagate": False},
        # 4xx responses are warnings here, and are no faults.
        "django.request": {"level": "ERROR"},
    },
    "root": {"handlers": ["stderr"], "level": read_log_level("JPWEB_LOG_LEVEL")},
}
