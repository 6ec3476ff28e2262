"""Types of the configuration: the assistant, its tools, their questions (RFD 034, 083)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from jpweb.stream.thread import SystemPart


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """``model``: the provider, the model's name, and its parameters (as configured, unread).

    Without a provider it is parameters alone, for the model that is chosen elsewhere.
    """

    provider: str
    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def merge_over(self, base_config: ModelConfig) -> ModelConfig:
        """Return the model; parameters alone become the model below with these as well."""
        if self.provider:
            return self
        return ModelConfig(
            base_config.provider, base_config.name, {**base_config.parameters, **self.parameters}
        )


#: No model is configured: the installation's default applies.
UNSET_MODEL = ModelConfig("", "")


@dataclass(frozen=True, slots=True)
class InquiryConfig:
    """How the inquiry backend asks; ``None`` inherits (RFD 034, ``conversation.inquiry``).

    ``max_response_bytes`` of 0 means no limit.
    """

    model: ModelConfig | None = None
    system_prompt: str | None = None
    max_response_bytes: int | None = None

    def merge_over(self, defaults: InquiryConfig) -> InquiryConfig:
        """Return a question's settings over those for all questions, whose 0 bytes inherit."""
        max_bytes = self.max_response_bytes
        model = self.model or defaults.model
        return InquiryConfig(
            model.merge_over(defaults.model) if model and defaults.model else model,
            defaults.system_prompt if self.system_prompt is None else self.system_prompt,
            (defaults.max_response_bytes or None) if max_bytes is None else max_bytes,
        )


class QuestionTarget(StrEnum):
    """The default answerer of a question (RFD 034)."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class StaticAnswer:
    """A configured answer, of any JSON value but null, which counts as absent."""

    value: Any = field(repr=False)  # may be a secret, and reprs end up in logs


@dataclass(frozen=True, slots=True)
class QuestionConfig:
    """``conversation.tools.<tool>.questions.<id>``; ``prompt_label`` is display only.

    ``exclusive`` overrides the author's flag (RFD 049); ``inquiry`` is read from the map form of
    ``target``. After ``expires_after`` seconds (jpweb's own) the question expires.
    """

    target: QuestionTarget = QuestionTarget.USER
    answer: StaticAnswer | None = None
    prompt_label: str | None = None
    exclusive: bool | None = None
    inquiry: InquiryConfig = InquiryConfig()
    expires_after: float | None = None


class ApprovalMode(StrEnum):
    """``run`` and ``result``: whether a person approves a call, or its result, first."""

    ASK = "ask"
    UNATTENDED = "unattended"
    EDIT = "edit"
    SKIP = "skip"


class DetachedPolicy(StrEnum):
    """The policy for a prompt while no person is reachable (RFD 049; ``wait`` is jpweb's)."""

    WAIT = "wait"
    DENY = "deny"
    AUTO = "auto"
    DEFAULTS = "defaults"


class AllowToggle(StrEnum):
    """The ways in which a tool may be switched on or off (RFD 081)."""

    ANY = "any"
    NEVER = "never"
    IF_NAMED = "if_named"
    IF_NAMED_OR_GROUP = "if_named_or_group"


@dataclass(frozen=True, slots=True)
class EnableConfig:
    """Whether a tool is offered, and whether that may be switched (RFD 081)."""

    state: bool = True
    allow_toggle: AllowToggle = AllowToggle.ANY

    @property
    def is_switched_with_all(self) -> bool:
        """Whether switching all tools switches this one as well."""
        return self.allow_toggle is AllowToggle.ANY


@dataclass(frozen=True, slots=True)
class ToolCommand:
    """A program and its arguments, each a minijinja template; ``shell`` hands them to ``sh``."""

    program: str
    args: tuple[str, ...] = ()
    shell: bool = False


@dataclass(frozen=True, slots=True)
class BuiltinSource:
    """A tool that is part of jpweb, found by its own name."""

    #: The name of the kind of source in definitions, whose hashes are saved; likewise below.
    KIND: ClassVar[str] = "Builtin"


@dataclass(frozen=True, slots=True)
class LocalSource:
    """A subprocess. ``tool`` is the name that the command is given."""

    KIND: ClassVar[str] = "Local"
    tool: str
    command: ToolCommand


@dataclass(frozen=True, slots=True)
class McpSource:
    """A tool of an MCP server."""

    KIND: ClassVar[str] = "Mcp"
    server: str
    tool: str


ToolSource: TypeAlias = BuiltinSource | LocalSource | McpSource


class AccessRule(NamedTuple):
    """``access.fs``: the rights of a local tool below a path; None is not granted.

    ``external``: the path is a link that leaves the workspace.
    """

    path: str
    external: bool = False
    read: bool | None = None
    write: bool | None = None
    create: bool | None = None
    update: bool | None = None
    delete: bool | None = None
    execute: bool | None = None


#: Rights that an access rule may grant.
CAPABILITIES = ("read", "write", "create", "update", "delete", "execute")


class SettingPlace(NamedTuple):
    """Where a value is set: the key, and the file or the overrides, by its name for people."""

    setting: str
    file: str


class ParameterText(NamedTuple):
    """The texts of a parameter, which ``describe_tools`` returns."""

    summary: str | None = None
    description: str | None = None
    examples: str | None = None


@dataclass(frozen=True, slots=True)
class ToolConfig:
    """``conversation.tools.<name>``: the tool's description, its policies and its questions.

    ``parameters`` is the JSON schema as it is sent. ``formatter`` is the command that formats the
    arguments for people, where one is configured; ``format`` says when it may run. ``declared``
    holds ``parameters`` as configured. Without ``access`` a local tool is not restricted.
    ``run_setting`` is the place of ``run``; None where it is the default.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    questions: Mapping[str, QuestionConfig] = field(default_factory=dict)
    source: ToolSource = BuiltinSource()
    enable: EnableConfig = EnableConfig()
    summary: str | None = None
    examples: str | None = None
    run: ApprovalMode = ApprovalMode.UNATTENDED
    run_setting: SettingPlace | None = field(default=None, compare=False)
    result: ApprovalMode = ApprovalMode.UNATTENDED
    cancellation_response: str | None = None
    formatter: ToolCommand | None = None
    format: ApprovalMode | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    access: tuple[AccessRule, ...] | None = None
    parameter_texts: Mapping[str, ParameterText] = field(default_factory=dict)
    declared: Mapping[str, Any] = field(default_factory=dict)
    detached: Mapping[Literal["run", "deliver", "tool"], DetachedPolicy] = field(
        default_factory=dict
    )

    def get_question(self, question_id: str) -> QuestionConfig:
        """Return the configuration of a question, the default one where there is none."""
        return self.questions.get(question_id, QuestionConfig())

    @property
    def can_format_first(self) -> bool:
        """Whether the formatter runs before a person has permitted the call, as ``run`` does."""
        return self.formatter is not None and (self.format or self.run) is ApprovalMode.UNATTENDED

    @property
    def model_description(self) -> str:
        """The model's description of the tool; ``describe_tools`` returns the rest."""
        return self.summary or self.description


@dataclass(frozen=True, slots=True)
class RequestConfig:
    """``assistant.request``: how often a request is repeated, and how long between (seconds).

    ``max_response_bytes`` limits a reply; one fails in which nothing arrives for ``idle_seconds``.
    0 sets no limit. ``cache`` tells whether the vendor caches the prompt, or for how long: “5m” or
    “1h”.
    """

    max_retries: int = 5
    base_backoff: float = 1.0
    max_backoff: float = 60.0
    max_response_bytes: int = 1_048_576
    idle_seconds: float = 60.0
    cache: bool | str = True


@dataclass(frozen=True, slots=True)
class AssistantConfig:
    """``assistant``: the model, and its system prompt."""

    name: str | None = None
    system: tuple[str | SystemPart, ...] = ()
    model: ModelConfig = UNSET_MODEL
    tool_choice: str = "auto"
    request: RequestConfig = RequestConfig()


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """``providers.llm.<name>``. Keys come from the environment alone; this names the variable."""

    base_url: str | None = None
    api_key_env: str | None = None
    app_name: str | None = None
    beta_headers: tuple[str, ...] = ()


#: Seconds in which an MCP server has to start.
DEFAULT_START_SECONDS = 60.0


class ChecksumAlgorithm(NamedTuple):
    """An algorithm of ``checksum``, the hexadecimal digits of its values, its name for people."""

    name: str
    digit_count: int
    title: str


#: The algorithms that JP has, its default first.
CHECKSUM_ALGORITHMS = (
    ChecksumAlgorithm("sha256", 64, "SHA-256"),
    ChecksumAlgorithm("sha1", 40, "SHA-1"),
)


@dataclass(frozen=True, slots=True)
class McpServer:
    """``providers.mcp.<name>``: a command (stdio) or a ``url`` (streamable HTTP).

    ``variables`` names the environment variables that a command gets; ``checksum`` is the hash that
    its file must have. A turn goes on without an ``optional`` server; it may take
    ``start_seconds`` to start, 0 for no limit.
    """

    name: str
    command: str | None = None
    arguments: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    checksum: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    optional: bool = False
    start_seconds: float = DEFAULT_START_SECONDS

    @property
    def checksum_algorithm(self) -> ChecksumAlgorithm:
        """The algorithm of the checksum, by its length."""
        digit_count = len(self.checksum or "")
        algorithms = (a for a in CHECKSUM_ALGORITHMS if a.digit_count == digit_count)
        return next(algorithms, CHECKSUM_ALGORITHMS[0])


@dataclass(frozen=True, slots=True)
class Configuration:
    """The configuration of a workspace. ``notes`` lists the keys that were ignored."""

    assistant: AssistantConfig = AssistantConfig()
    inquiry: InquiryConfig = InquiryConfig()
    tools: Mapping[str, ToolConfig] = field(default_factory=dict)
    providers: Mapping[str, ProviderConfig] = field(default_factory=dict)
    servers: Mapping[str, McpServer] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
