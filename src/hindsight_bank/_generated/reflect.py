"""The types of the tool `reflect`.

Generated; do not edit. `python -m codegen` makes this file from schemas/:

    rules/reflect.json  sha256:df82528b2e5475c4772ae3efcfcfe8375673fa4edb66bff15eb28256a7c73a53
    tools/reflect.json  sha256:e0cb0c0b1b5317b863963122d9665b12f3766c8fca6838d1bbf3766a3d6bb588
    types/directive.json  sha256:e629e9fd2a96e03f11d479653d64c567471a1514d6204722c585be2f69c8c3fb
    types/fact.json  sha256:16c4c627540bd13da68a48eab98616bed3a67b03e3ea819f6424bf1e94a31f76
"""

from typing import Annotated, Any, Literal, Required, TypedDict, final

from msgspec import Meta, Raw, Struct
from msgspec.structs import force_setattr

from hindsight_bank._generated.directive import Directive
from hindsight_bank._generated.fact import Fact
from hindsight_bank._generated.reading import OrEmpty
from hindsight_bank.layout import frozen
from hindsight_bank.shown import Shown


@final
@frozen(kw_only=True)
class BasedOn(Shown):
    """What a reflection rests on, by kind.

    Attributes:
        world: Facts about the world and other people.
        experience: What the bank's owner did or lived through.
        opinion: Opinions; only old banks hold any.
        observation: Conclusions consolidated from several facts.
        mental_models: Mental models, as facts of type mental-models without dates, tags or documents. The wire's
            `mental-models`.
        directives: The directives in force.
    """

    world: OrEmpty[tuple[Fact, ...]] = ()
    experience: OrEmpty[tuple[Fact, ...]] = ()
    opinion: OrEmpty[tuple[Fact, ...]] = ()
    observation: OrEmpty[tuple[Fact, ...]] = ()
    mental_models: OrEmpty[tuple[Fact, ...]] = ()
    directives: OrEmpty[tuple[Directive, ...]] = ()

    def __post_init__(self) -> None:
        if self.world is None:
            force_setattr(self, "world", ())
        if self.experience is None:
            force_setattr(self, "experience", ())
        if self.opinion is None:
            force_setattr(self, "opinion", ())
        if self.observation is None:
            force_setattr(self, "observation", ())
        if self.mental_models is None:
            force_setattr(self, "mental_models", ())
        if self.directives is None:
            force_setattr(self, "directives", ())


class _BasedOn(Struct, frozen=True, kw_only=True, rename={"mental_models": "mental-models"}):
    """BasedOn as it comes over the wire."""

    world: OrEmpty[tuple[Fact, ...]] = ()
    experience: OrEmpty[tuple[Fact, ...]] = ()
    opinion: OrEmpty[tuple[Fact, ...]] = ()
    observation: OrEmpty[tuple[Fact, ...]] = ()
    mental_models: OrEmpty[tuple[Fact, ...]] = ()
    directives: OrEmpty[tuple[Directive, ...]] = ()

    def build(self) -> BasedOn:
        return BasedOn(
            world=self.world,
            experience=self.experience,
            opinion=self.opinion,
            observation=self.observation,
            mental_models=self.mental_models,
            directives=self.directives,
        )


@final
@frozen(kw_only=True)
class Usage(Shown):
    """Tokens that a reflection consumed, all its language model calls together.

    Attributes:
        input_tokens: Tokens read.
        output_tokens: Tokens written.
        total_tokens: Both together, as the server counts them.
        cached_tokens: Those of input_tokens that came from the provider's cache. Since 0.8.0.
        thoughts_tokens: Tokens spent on the model's hidden reasoning. Since 0.8.4.
    """

    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_tokens: int | None = None
    thoughts_tokens: int | None = None


@final
@frozen(kw_only=True)
class ToolCall(Shown):
    """One search or step of a reflection.

    Attributes:
        tool: The inner tool's name, such as recall or search_observations.
        reason: Why the model called it. None if it did not say.
        input: What it was called with; differs by tool and version.
        output: What it answered; differs by tool and version.
        duration_ms: How long it took, in milliseconds.
        iteration: The round of the reflection, from 1.
    """

    tool: str
    reason: str | None
    input: dict[str, Any]
    output: dict[str, Any]
    duration_ms: int
    iteration: int


@final
@frozen(kw_only=True)
class LLMCall(Shown):
    """One call of the language model during a reflection.

    Attributes:
        scope: What the call was for, such as agent_1 or final.
        duration_ms: How long it took, in milliseconds.
    """

    scope: str
    duration_ms: int


@final
@frozen(kw_only=True)
class ReflectResult(Shown):
    """An answer that the bank reasoned out.

    Attributes:
        text: The answer, in Markdown.
        based_on: What the answer rests on. None unless include_based_on was asked for (servers before 0.7.0 always send
            it).
        structured_output: The answer in the shape of response_schema. None if that was not asked for, or failed.
        structured_output_error: Why structured_output failed. None if it did not. Since 0.10.0.
        usage: What the language model consumed.
        tool_trace: The searches made, in order. Empty unless include_trace was asked for (servers before 0.8.3 always
            send it).
        llm_trace: The language model's calls, in order. Empty unless include_trace was asked for, as tool_trace.
        directives_applied: The directives followed. Empty unless include_trace was asked for, as tool_trace.
    """

    text: str
    based_on: BasedOn | None = None
    structured_output: dict[str, Any] | None
    structured_output_error: str | None = None
    usage: Usage | None
    tool_trace: OrEmpty[tuple[ToolCall, ...]] = ()
    llm_trace: OrEmpty[tuple[LLMCall, ...]] = ()
    directives_applied: OrEmpty[tuple[Directive, ...]] = ()
    error: None = None

    def __post_init__(self) -> None:
        if self.tool_trace is None:
            force_setattr(self, "tool_trace", ())
        if self.llm_trace is None:
            force_setattr(self, "llm_trace", ())
        if self.directives_applied is None:
            force_setattr(self, "directives_applied", ())


class _ReflectResult(Struct, frozen=True, kw_only=True):
    """ReflectResult as it comes over the wire."""

    text: str
    based_on: _BasedOn | None = None
    structured_output: dict[str, Any] | None
    structured_output_error: str | None = None
    usage: Usage | None
    tool_trace: OrEmpty[tuple[ToolCall, ...]] = ()
    llm_trace: OrEmpty[tuple[LLMCall, ...]] = ()
    directives_applied: OrEmpty[tuple[Directive, ...]] = ()
    error: None = None
    status: Raw = Raw()

    def build(self) -> ReflectResult:
        return ReflectResult(
            text=self.text,
            based_on=None if self.based_on is None else self.based_on.build(),
            structured_output=self.structured_output,
            structured_output_error=self.structured_output_error,
            usage=self.usage,
            tool_trace=self.tool_trace,
            llm_trace=self.llm_trace,
            directives_applied=self.directives_applied,
        )


Answer = _ReflectResult


class Arguments(TypedDict, total=False):
    """What reflect takes, by our rules too. None is never sent."""

    query: Required[str]
    context: str
    budget: Literal["low", "mid", "high"]
    max_tokens: Annotated[int, Meta(ge=1)]
    response_schema: dict[str, Any]
    tags: list[str]
    tags_match: Literal["any", "all", "any_strict", "all_strict", "exact"]
    apply_all_directives: bool
    include_based_on: bool
    include_trace: bool


EXCLUSIVE: tuple[tuple[str, ...], ...] = ()
TIMES: tuple[str, ...] = ()
