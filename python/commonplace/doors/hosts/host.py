"""Hook payloads of a host: what it calls its events, and the JSON in which it takes an answer."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    EventKind = Literal["session start", "prompt", "message", "compaction", "stop", "session end"]


class HookEvent:
    """What a host tells a hook, in the same words for every host.

    `source` is why a session starts: `startup`, `resume`, `clear`, `compact` or "". `transcript` is
    the file in which the host keeps the session, if it says so. `said` is the role and the text of
    a message, from a host whose files cannot be read.
    """

    def __init__(
        self,
        kind: EventKind,
        session: str,
        cwd: str,
        *,
        transcript: str | None = None,
        prompt: str = "",
        source: str = "",
    ) -> None:
        self.kind, self.session, self.cwd = kind, session, cwd
        self.transcript, self.prompt, self.source = transcript, prompt, source
        self.said: tuple[str, str] | None = None

    def context_is_new(self) -> bool:
        """Say whether what was injected before is no longer in the context of the model."""
        return self.kind == "session start" and self.source in {"clear", "compact"}


class HookSwitch:
    """Settings by which a host runs no hooks at all.

    Args:
        file: The file in its folder, of the user or of a project.
        values: What turns hooks off, by keys with a dot between them.
        local: A file of a project that counts before that.
    """

    def __init__(self, file: str, values: dict[str, bool], local: str = "") -> None:
        self.file, self.values, self.local = file, values, local


class Settings:
    """Where a host keeps its settings, and what it takes there.

    Args:
        folder: Its folder in the home: `.claude`.
        variable: The variable that names another folder in place of that in the home.
        hooks: The file of its hooks in that folder; "" where it has no such file.
        mcp: The files of its MCP servers, from that folder: the user's, and a project's.
        second: What it writes for a second where it takes a time.
        advice: What a person has to do once after the hooks were written.
        servers: Under which key it names MCP servers.
        project_folder: Its folder in a project, where that has another name.
        skills: The folders of skills in a home and in a project, where they are elsewhere than
            `skills` in its own folder.
        version: What the file of hooks has as its `version`, if it needs one. The hooks of an event
            are then a plain list, as Cursor has it.
        hook_switch: What turns its hooks off, where something does.
    """

    def __init__(
        self,
        folder: str,
        variable: str,
        hooks: str,
        mcp: tuple[str, str],
        *,
        second: int = 1,
        advice: str = "",
        servers: str = "mcpServers",
        project_folder: str = "",
        skills: tuple[str, str] | None = None,
        version: int | None = None,
        hook_switch: HookSwitch | None = None,
    ) -> None:
        self.folder, self.variable, self.hooks, self.mcp = folder, variable, hooks, mcp
        self.second, self.advice, self.servers = second, advice, servers
        self.project_folder = project_folder or folder
        self.skills, self.version = skills, version
        self.hook_switch = hook_switch


class Host:
    """A host whose payloads have the fields of Claude Code, which most others have taken over.

    Args:
        name: As on the command line: `claude-code`.
        title: As its makers write it.
        events: The kind of each of its events that is answered or noted.
        injects: Those of its events whose answer may hold text for the model.
        limit: The most characters that it takes as such text.
        settings: Where it keeps its settings.
        mixes_projects: Whether the transcripts of several projects lie in one folder.
    """

    def __init__(
        self,
        name: str,
        title: str,
        events: dict[str, EventKind],
        injects: tuple[str, ...],
        limit: int,
        settings: Settings,
        *,
        mixes_projects: bool = False,
    ) -> None:
        self.name, self.title, self.events = name, title, events
        self.injects, self.limit, self.settings = injects, limit, settings
        self.mixes_projects = mixes_projects

    @property
    def is_provider(self) -> bool:
        """Whether it has the memory as a plugin alone: neither by hooks nor by a server."""
        return not self.events and not self.settings.mcp[0]

    @property
    def recalls(self) -> bool:
        """Whether it takes what fits a prompt."""
        return "prompt" in self.events.values() or self.is_provider

    def event(self, payload: dict[str, Any]) -> HookEvent | None:
        """Return the event of a payload; None for one that is not ours to answer.

        The turns of a subagent are the host's own prompts, not those of a person.

        Raises:
            ValueError: The payload lacks what every event has.
        """
        kind = self.events.get(text_of(payload, "hook_event_name"))
        if kind is None or payload.get("agent_id"):
            return None
        return HookEvent(
            kind,
            text_of(payload, "session_id"),
            text_of(payload, "cwd"),
            transcript=payload.get("transcript_path") or None,
            # half of a pair of surrogates is JSON, and no text
            prompt=_prompt(payload.get("prompt")).encode(errors="replace").decode(),
            source=str(payload.get("source") or ""),
        )

    def answer(self, payload: dict[str, Any], context: str) -> dict[str, Any] | None:
        """Return the JSON with which the host adds `context` to what the model sees.

        None where nothing is to be printed.
        """
        name = payload["hook_event_name"]
        if not context or name not in self.injects:
            return None
        return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}}


def text_of(payload: dict[str, Any], name: str) -> str:
    """Return a field of a payload that has to be there.

    Raises:
        ValueError: It is not, or is no text.
    """
    value = payload.get(name)
    if not isinstance(value, str):
        raise ValueError(f"the payload of the hook has no text {name!r}")
    return value


def _prompt(given: Any) -> str:
    """Return the text of a prompt, also of one in blocks: an image has nothing to search for."""
    if isinstance(given, str):
        return given
    blocks = given if isinstance(given, list) else ()
    texts = (block.get("text") for block in blocks if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
