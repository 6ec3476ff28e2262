"""Settings, all from the environment; ``docs/operations.md`` names every variable.

``JPWEB_DATA`` is the folder that holds everything of an installation: by default ``./var`` of a
checkout, or the user's data folder where jpweb is installed.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from jpweb import datafolder, installation

env = environ.Env()


def read_number(name: str, default: float) -> float:
    """Return a number from the environment. Raises ImproperlyConfigured with one line."""
    text = env.str(name, default="")
    try:
        return float(text) if text else default
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a number, not “{text}”.") from None


def read_site_url(name: str) -> SplitResult | None:
    """Return a site's address from the environment. Raises ImproperlyConfigured with one line."""
    text = env.str(name, default="").strip().rstrip("/").lower()
    try:
        url = urlsplit(text)
        is_whole = f"{url.scheme}://{url.netloc}" == text and "@" not in text
        if not text or (url.scheme in ("http", "https") and url.hostname and is_whole):
            _ = url.port  # raises where it is none
            return url if text else None
    except ValueError:
        pass
    raise ImproperlyConfigured(
        f"{name} must be an address such as https://jp.example.org, with nothing behind it, "
        f"not “{text}”."
    )


#: The folder that holds ``templates``, ``static`` and ``docs``.
BASE_DIR = installation.RESOURCE_DIR
DATA_DIR = (
    Path(env.str("JPWEB_DATA", default=str(installation.find_default_data_dir())))
    .expanduser()
    .resolve()
)
PORT = int(read_number("JPWEB_PORT", 8000))


def _load_secret_key() -> str:
    """Return the installation's secret key, created on first use, readable by its owner alone."""
    path = DATA_DIR / "secret-key"
    try:
        datafolder.make_folder(DATA_DIR)
        if not path.exists():
            temporary_path = path.with_name(f"secret-key.{os.getpid()}")
            temporary_path.touch(mode=0o600)
            temporary_path.write_text(secrets.token_urlsafe(50))
            with suppress(FileExistsError):  # who starts at the same time has the same key
                path.hardlink_to(temporary_path)
            temporary_path.unlink()
        return path.read_text()
    except OSError as error:
        raise _make_data_dir_error(error) from error


def _prepare_folder(database: Path) -> None:
    """Create the data folder of SQLite's file, without which commands would fail."""
    if DATA_DIR in database.parents:
        try:
            datafolder.make_folder(database.parent)
        except OSError as error:
            raise _make_data_dir_error(error) from error


def _close_folder() -> list[str]:
    """Close the data folder to other users; return the paths that were open to them."""
    try:
        return datafolder.close_folder(DATA_DIR)
    except OSError as error:
        raise _make_data_dir_error(error) from error


def _make_data_dir_error(error: OSError) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"JPWEB_DATA cannot be used: {error.filename}: {error.strerror}.")


def _read_sqlite_sync() -> str:
    """Return SQLite's ``synchronous`` mode: sync at each commit, or at the checkpoint."""
    sync: str = env.str("JPWEB_SYNC", default="full")
    if sync not in ("full", "normal"):
        raise ImproperlyConfigured(f"JPWEB_SYNC must be full or normal, not “{sync}”.")
    return sync.upper()


def _check_runs(runs: str) -> None:
    """Refuse an unknown ``JPWEB_RUNS``, and workers without PostgreSQL or Redis."""
    if runs not in ("embedded", "workers"):
        raise ImproperlyConfigured(f"JPWEB_RUNS must be embedded or workers, not “{runs}”.")
    requirements = {
        "PostgreSQL (DATABASE_URL=postgres://USER@HOST/NAME)": "postgresql"
        in DATABASES["default"]["ENGINE"],
        "Redis (REDIS_URL=redis://HOST)": bool(REDIS_URL),
    }
    missing = [requirement for requirement, is_met in requirements.items() if not is_met]
    if runs == "workers" and missing:
        raise ImproperlyConfigured(
            f"JPWEB_RUNS=workers needs {' and '.join(missing)}. "
            f"To try it on one machine: {installation.TEAM_COMMAND}"
        )


SECRET_KEY = env.str("JPWEB_SECRET_KEY", default="") or _load_secret_key()
DEBUG = False
ALLOWED_HOSTS = env.list("JPWEB_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])

INSTALLED_APPS = [
    "daphne",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "django_htmx",
    # Only the packages in which Django has to find models, tags or commands;
    # stream, agent and runtime are plain Python.
    "jpweb.store",
    "jpweb.web",
    "jpweb.cli",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "jpweb.web.security.cache_headers.PrivatePages",
    "jpweb.web.middleware.DatabaseOutageMiddleware",
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
                "jpweb.web.access.navigation",
            ],
        },
    },
]

# Seconds that a write to SQLite waits for one that is under way.
SQLITE_LOCK_SECONDS = 5
# Seconds that a statement of PostgreSQL may take, and a page or a turn wait for it.
STATEMENT_SECONDS = read_number("JPWEB_STATEMENT_SECONDS", 30)
DATABASES: dict[str, dict[str, Any]] = {
    "default": env.db("DATABASE_URL", default=f"sqlite:///{DATA_DIR / 'jpweb.sqlite3'}")
}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    _prepare_folder(Path(DATABASES["default"]["NAME"]))
    # A read that turns into a write cannot wait for the lock in SQLite's default mode.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": SQLITE_LOCK_SECONDS,
        "init_command": f"PRAGMA journal_mode=WAL; PRAGMA synchronous={_read_sqlite_sync()};",
    }
else:
    # Loaded where it is used: SQLite needs no psycopg.
    from jpweb.store.database import timeouts

    _options = DATABASES["default"].get("OPTIONS", {})
    DATABASES["default"]["OPTIONS"] = {
        **timeouts.make_connection_options(STATEMENT_SECONDS, _options),
        "pool": timeouts.make_pool_options(STATEMENT_SECONDS, min_size=1, max_size=10, timeout=5),
    }
    # A connection that died with its server is replaced, and no request gets it.
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True

# What in the folder was open to other users of the machine; it is told once logging works.
DATA_MENDED = _close_folder()

REDIS_URL = env.str("REDIS_URL", default="")
# Between processes alone; what reaches one is handed on inside it (jpweb/runtime/broadcast).
CHANNEL_LAYERS: dict[str, dict[str, Any]] = {}
if REDIS_URL:
    CHANNEL_LAYERS["default"] = {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        # Encrypted and authenticated: text that is being received passes there.
        "CONFIG": {
            "hosts": [REDIS_URL],
            "symmetric_encryption_keys": [f"jpweb channel layer\n{SECRET_KEY}"],
        },
    }

# Who executes runs: this server itself, or processes of their own (`jpweb work`).
RUNS = env.str("JPWEB_RUNS", default="embedded")
_check_runs(RUNS)
if RUNS == "workers":
    INSTALLED_APPS.append("procrastinate.contrib.django")

# Seconds for which a process holds a run without a sign of life, and for which a run that only
# waits for people stays with its process.
LEASE = read_number("JPWEB_LEASE", 15)
HOLD = read_number("JPWEB_HOLD", 30)

AUTH_USER_MODEL = "store.Person"
LOGIN_URL = "sign-in"
SESSION_COOKIE_NAME = "jpweb_session"
CSRF_COOKIE_NAME = "jpweb_csrf"
SESSION_ENGINE = "jpweb.store.people.sessions"
# A sign-in ends after so long, and after so long without a request.
SESSION_COOKIE_AGE = int(read_number("JPWEB_SESSION_DAYS", 30) * 86_400)
SESSION_IDLE_SECONDS = read_number("JPWEB_IDLE_HOURS", 12) * 3600
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
# Django writes what is larger into temporary files; nothing is (jpweb/cli/connections).
FILE_UPLOAD_MAX_MEMORY_SIZE = DATA_UPLOAD_MAX_MEMORY_SIZE

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "font-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

#: The address of a static file names what the files are, so that a browser asks for each once.
STATIC_URL = f"static/{installation.compute_static_version()}/"
STATICFILES_DIRS = [BASE_DIR / "static", ("pictures", installation.PICTURES_DIR)]
WHITENOISE_USE_FINDERS = True
WHITENOISE_IMMUTABLE_FILE_TEST = r"^/static/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# The model that plays turns where a workspace configures none: provider/name. The providers are
# those of jpweb.agent.providers.PROVIDERS; the script has one model.
PROVIDER, _, MODEL = env.str("JPWEB_MODEL", default="scripted/script").partition("/")
# Seconds between the pieces that the scripted provider sends.
SCRIPT_PACE = read_number("JPWEB_SCRIPT_PACE", 0.03)

# Where people reach this installation from elsewhere: links in messages begin with it. With https
# a proxy in front of this server takes the requests, and has to say so in X-Forwarded-Proto.
PUBLIC_URL = f"http://127.0.0.1:{PORT}"
if (_site := read_site_url("JPWEB_URL")) is not None:
    PUBLIC_URL = _site.geturl()
    ALLOWED_HOSTS.append(_site.netloc.removesuffix(f":{_site.port}"))
    if _site.scheme == "https":
        CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
        CSRF_COOKIE_SECURE = SESSION_COOKIE_SECURE = True
        # A browser takes a cookie of such a name from this host alone, over https.
        SESSION_COOKIE_NAME = f"__Host-{SESSION_COOKIE_NAME}"
        CSRF_COOKIE_NAME = f"__Host-{CSRF_COOKIE_NAME}"
        SECURE_HSTS_SECONDS = 60 * 60 * 24 * 365
        SECURE_HSTS_INCLUDE_SUBDOMAINS = True
        SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# The services through which people may be told of questions. Others would let a member have this
# server call or write what they like.
_SERVICES = (
    *("mailto", "mailtos", "slack", "ntfy", "ntfys", "discord", "workflow", "workflows", "tgram"),
    *("matrix", "matrixs", "mmost", "mmosts", "rocket", "rockets", "gchat", "webex", "zulip"),
    *("nctalk", "nctalks", "signal", "signals", "gotify", "gotifys", "pover", "pbul", "prowl"),
)
NOTIFY_SCHEMAS = tuple(
    name.strip().lower() for name in env.list("JPWEB_NOTIFY_SCHEMAS", default=list(_SERVICES))
)
# Hosts and networks that notifications may reach though they are private, such as a mail server.
NOTIFY_PRIVATE = tuple(
    name.strip().lower() for name in env.list("JPWEB_NOTIFY_PRIVATE", default=[]) if name.strip()
)

# Who talks to models and MCP servers, and who sends messages, repeats in its log what passes:
# conversations, answers to secret questions, keys. Nothing of it is logged at any level; jpweb
# says itself what went wrong.
# "client" and "server" are what the MCP library calls two of its loggers.
MUTE = (
    *("mcp", "client", "server", "httpx", "httpx2", "httpcore", "httpcore2"),
    *("anthropic", "openai", "google", "google_genai", "pydantic_ai", "genai-prices", "urllib3"),
    *("apprise", "requests", "requests_oauthlib", "oauthlib"),
)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "line"},
        "nowhere": {"class": "logging.NullHandler"},
    },
    "loggers": {
        **{
            name: {"handlers": ["nowhere"], "propagate": False, "level": "CRITICAL"}
            for name in MUTE
        },
        # It reports every attempt to connect; the error that ends them says enough.
        "psycopg.pool": {"level": "ERROR"},
        # It shows where each connection was lost; the worker says in one line that it was.
        "procrastinate": {"level": "CRITICAL"},
        # It shows where it failed each second of an outage; the channel layer says so once.
        "channels_redis.pubsub": {"level": "CRITICAL"},
        # One line an event, whatever else is logged.
        "jpweb.security": {"level": "INFO"},
        # A refusal is an answer; with its traceback it would look like a fault.
        "django.request": {"level": "ERROR"},
    },
    "root": {"handlers": ["stderr"], "level": env.str("JPWEB_LOG_LEVEL", default="WARNING")},
}
