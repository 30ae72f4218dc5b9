"""Agent programs as a test runs them: one prompt a session, a small model."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.hosts.runner import Home, program


class Agent(Home):
    """A home with a host; `name` is that of `commonplace install`."""

    name: str
    program: str

    def connect(self) -> None:
        """Connect it by its settings."""
        self.commonplace("install", self.name)

    def add_plugin(self, folder: Path) -> None:
        """Connect it by a plugin, from the catalogue in a folder."""
        raise NotImplementedError

    def command(self, prompt: str) -> list[str]:
        """Return the command of a session with one prompt."""
        raise NotImplementedError

    def ask(self, prompt: str, **more: str) -> str:
        """Hold a session of one prompt and return all that the model was asked in it."""
        self.run(*self.command(prompt), **more)
        return json.dumps(self.requests(), ensure_ascii=False)

    def call_tool(self, prompt: str, name: str, **arguments: object) -> str:
        """Do as `ask`, with a model that asks for a tool of our server."""
        call = json.dumps(["commonplace", name, arguments])
        return self.ask(prompt, TOOL_CALL=call)


class Claude(Agent):
    """Claude Code."""

    name = "claude-code"

    def __init__(self, folder: Path) -> None:
        self.program = program("claude")
        quiet = ["DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER"]
        quiet.append("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
        model = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:{port}", "ANTHROPIC_API_KEY": "none"}
        super().__init__(folder, model | dict.fromkeys(quiet, "1"))

    def command(self, prompt: str) -> list[str]:
        """Return the command of a session with one prompt."""
        # a person is asked before the first call of a tool
        allowed = ["--allowedTools", "mcp__commonplace"]
        return [self.program, "-p", prompt, "--output-format", "json", *allowed]

    def add_plugin(self, folder: Path) -> None:
        """Connect it by a plugin, from the catalogue in a folder."""
        for checked in (folder, folder / "plugin"):
            self.call(self.program, "plugin", "validate", "--strict", str(checked))
        self.call(self.program, "plugin", "marketplace", "add", str(folder))
        self.call(self.program, "plugin", "install", "commonplace@commonplace")

    def start_and_kill(self, prompt: str, answer: str) -> subprocess.Popen[bytes]:
        """Start a session that waits for another prompt, and kill it when one is answered."""
        line = {"type": "user", "message": {"role": "user", "content": prompt}}
        streams = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        more = {"KILLED_AFTER": answer, "PROMPT_LINE": json.dumps(line)}
        return self.start(self.program, "-p", *streams, answer=answer, **more)


class Codex(Agent):
    """Codex CLI."""

    name = "codex"

    def __init__(self, folder: Path) -> None:
        self.program = program("codex")
        super().__init__(folder, {"MODEL_KEY": "none"})

    def add_plugin(self, folder: Path) -> None:
        """Connect it by a plugin, from the catalogue in a folder."""
        self.call(self.program, "plugin", "marketplace", "add", str(folder))
        self.call(self.program, "plugin", "add", "commonplace@commonplace")

    def command(self, prompt: str) -> list[str]:
        """Return the command of a session with one prompt."""
        # a person trusts new hooks once, in a dialogue
        unattended = ["--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
        provider = (
            'model_providers.loopback={name="loopback", base_url="http://127.0.0.1:{port}/v1", '
            'wire_api="responses", env_key="MODEL_KEY"}'
        )
        settings = ["-c", "model=small", "-c", "model_provider=loopback", "-c", provider]
        return [self.program, "exec", *unattended, *settings, prompt]


class Gemini(Agent):
    """Gemini CLI."""

    name = "gemini"

    def __init__(self, folder: Path) -> None:
        self.program = program("gemini")
        model = {"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:{port}", "GEMINI_API_KEY": "none"}
        super().__init__(folder, model)
        (self.folder / ".gemini").mkdir()
        chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        (self.folder / ".gemini" / "settings.json").write_text(json.dumps(chosen))

    def command(self, prompt: str) -> list[str]:
        """Return the command of a session with one prompt."""
        # a person trusts a folder once, and is asked before the first call of a tool
        unattended = ["--skip-trust", "--approval-mode", "yolo"]
        return [self.program, *unattended, "--model", "gemini-2.5-flash", "--prompt", prompt]


class Opencode(Agent):
    """The program opencode."""

    name = "opencode"

    def __init__(self, folder: Path) -> None:
        self.program = program("opencode")
        super().__init__(folder, {"MODEL_URL": "http://127.0.0.1:{port}/v1"})
        options = {"baseURL": "{env:MODEL_URL}", "apiKey": "none"}
        provider = {"npm": "@ai-sdk/anthropic", "options": options, "models": {"small": {}}}
        settings = {"model": "loopback/small", "small_model": "loopback/small"}
        own = self.folder / ".config" / "opencode"
        own.mkdir(parents=True)
        text = json.dumps(settings | {"provider": {"loopback": provider}})
        (own / "opencode.json").write_text(text)
        # before it runs any plugin it gets this from npm, and waits for a minute without a network
        needed = {"dependencies": {"@opencode-ai/plugin": "*"}}
        (own / "node_modules").mkdir()
        (own / "package.json").write_text(json.dumps(needed))
        (own / "package-lock.json").write_text(json.dumps({"packages": {"": needed}}))

    def command(self, prompt: str) -> list[str]:
        """Return the command of a session with one prompt."""
        # it puts an argument with spaces in quotes, and the rest of them together
        return [self.program, "run", *prompt.split()]
