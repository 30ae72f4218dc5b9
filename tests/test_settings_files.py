"""Entries in the settings of other programs: what is there stays, and comes back to the byte."""

from __future__ import annotations

import errno
import json
import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.cli import load_commands, read_commands, session_commands, write_commands  # noqa: F401 - they register
from commonplace.doors import jsonc
from commonplace.doors.hook_entries import hook_command, is_our_command
from commonplace.doors.hosts import NAMES, find_host
from commonplace.doors.install import hooks_file, installed_files, skill_text
from commonplace.doors.mcp_entries import add_server, drop_server, installed_server
from commonplace.doors.opencode_plugin import plugin_command
from commonplace.doors.settings_file import BACKUP, OwnFile, SettingsFile
from commonplace.errors import FormatError

WORDS = st.text('ab "\\/é漢,{}[]:', max_size=4)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), WORDS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
OTHER_HOOK = st.fixed_dictionaries({"hooks": st.just([{"type": "command", "command": "say done"}])})
GROUPS = st.lists(OTHER_HOOK, max_size=2)
HOOKS = st.dictionaries(st.sampled_from(["Stop", "SessionStart", "PreToolUse"]), GROUPS)
SETTINGS = st.builds(
    lambda others, hooks, first: (
        {"hooks": hooks, **others} if first else {**others, "hooks": hooks}
    ),
    st.dictionaries(WORDS, VALUES, max_size=3),
    HOOKS,
    st.booleans(),
) | st.dictionaries(WORDS, VALUES, max_size=3)
SPACE = st.sampled_from(["", "", " ", "\n", "\n  ", "\t", " // one\n", "/* two, { */", "\r\n"])


def render(value: Any, draw: Any) -> str:
    """Return JSON for a value with random layout, comments and trailing commas."""
    if isinstance(value, dict):
        items = [
            f"{json.dumps(key)}{draw(SPACE)}:{draw(SPACE)}{render(inner, draw)}"
            for key, inner in value.items()
        ]
        opening, closing = "{", "}"
    elif isinstance(value, list):
        items = [render(inner, draw) for inner in value]
        opening, closing = "[", "]"
    else:
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    parts = [f"{draw(SPACE)}{item}{draw(SPACE)}" for item in items]
    trailing = "," + draw(SPACE) if items and draw(st.booleans()) else ""
    return opening + ",".join(parts) + trailing + (draw(SPACE) if not items else "") + closing


@st.composite
def settings_texts(draw: Any) -> str:
    return f"{draw(SPACE)}{render(draw(SETTINGS), draw)}{draw(SPACE)}"


def file_with_folder(path: Path, host: str = "claude-code") -> SettingsFile:
    """Return the settings file of a host as if it lay in this folder, which is made."""
    file = settings_file(path, host)
    file.path.parent.mkdir(parents=True, exist_ok=True)
    return file


def settings_file(path: Path, host: str = "claude-code") -> SettingsFile:
    """Return the settings file of a host as if it lay in this folder."""
    found = find_host(host)
    command = hook_command("/opt/my tools/commonplace", found, None, in_project=False)
    return hooks_file(found, command, path)


@settings(max_examples=40)
@given(text=settings_texts())
def test_uninstall_restores_every_byte(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = file_with_folder(tmp_path_factory.mktemp("project"))
    file.path.write_bytes(text.encode())
    assert file.install()
    both = file.path.read_bytes()
    assert jsonc.parse(both.decode()).value["hooks"]["Stop"][-1]["hooks"][0]["timeout"] == 10
    assert not file.install()
    assert file.path.read_bytes() == both
    assert file.uninstall()
    assert file.path.read_bytes() == text.encode()
    assert [*file.path.parent.iterdir()] == [file.path]


@settings(max_examples=40)
@given(text=settings_texts())
def test_what_others_write_meanwhile_stays(text: str) -> None:
    """Without a backup that fits, the entries alone are taken out."""
    file = settings_file(Path("/nowhere"))
    edited = jsonc.insert(file.add(text), ["others", "own"], 1)
    left = jsonc.parse(file.drop(edited)).value
    assert left.pop("others")["own"] == 1
    assert pruned(left) == pruned(jsonc.parse(text).value)
    assert [*left] == [key for key in jsonc.parse(text).value if key in left]


def pruned(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings without empty lists of hooks, which mean nothing."""
    hooks = {name: groups for name, groups in settings.get("hooks", {}).items() if groups}
    others = {key: value for key, value in settings.items() if key != "hooks"}
    return others | ({"hooks": hooks} if hooks else {})


@settings(max_examples=40)
@given(text=settings_texts())
def test_comments_and_values_of_others_stay(text: str) -> None:
    new = settings_file(Path("/nowhere")).add(text)
    assert [new.count(mark) for mark in ("// one", "/* two, { */")] == [
        text.count(mark) for mark in ("// one", "/* two, { */")
    ]


@given(value=VALUES, data=st.data())
def test_the_parser_reads_what_json_reads(value: Any, data: st.DataObject) -> None:
    text = render(value, data.draw)
    assert jsonc.parse(text).value == value
    assert jsonc.parse(json.dumps(value)).value == value


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini", "cursor"])
def test_a_file_that_was_not_there_is_gone_again(host: str, tmp_path: Path) -> None:
    file = file_with_folder(tmp_path, host)
    assert file.install()
    assert {*json.loads(file.path.read_text())["hooks"]} == {*find_host(host).events}
    assert file.uninstall()
    assert not file.path.exists()
    assert not file.uninstall()


def test_an_upgrade_replaces_the_entries(tmp_path: Path) -> None:
    before = b'{"model": "opus"}\n'
    file = file_with_folder(tmp_path)
    file.path.write_bytes(before)
    file.install()
    command = ["/new/commonplace", "hook", "claude-code"]
    newer = hooks_file(find_host("claude-code"), command, tmp_path)
    assert newer.install()
    text = newer.path.read_text()
    assert "/new/commonplace" in text
    assert "my tools" not in text
    assert newer.uninstall()
    assert newer.path.read_bytes() == before


@settings(max_examples=40)
@given(text=st.none() | settings_texts())
def test_what_was_installed_need_not_be_known(
    text: str | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A person types `uninstall` without the options of `install`, or in a later version."""
    file = file_with_folder(tmp_path_factory.mktemp("project"))
    if text is not None:
        file.path.write_bytes(text.encode())
    command = ["/old/commonplace", "hook", "claude-code", "--min-confidence", "0.5"]
    hooks_file(find_host("claude-code"), command, file.path.parents[1]).install()
    assert file.uninstall()
    left = [path.read_bytes() for path in file.path.parent.iterdir()]
    assert left == ([] if text is None else [text.encode()])


def test_settings_that_were_disconnected_by_hand_stay(tmp_path: Path) -> None:
    file = file_with_folder(tmp_path)
    file.path.write_text('{"hooks": {}, "a": 1}')
    file.install()
    file.path.write_text('{"a": 1}')
    assert not file.uninstall()
    assert file.path.read_text() == '{"a": 1}'


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3: a comma"),
        ('{"a": tru}', "line 1, column 7: 'tru'"),
        ('{"a": 1', "line 1, column 8: a comma"),
        ("[1]", "line 1, column 1: an object"),
        ('{"hooks": []}', "line 1, column 11: an object"),
        ('{"hooks": {"SessionStart": 1}}', "line 1, column 28: an array"),
        ("[" * 5000, "line 1, column 102: nested deeper"),
        ('{"a": "\x01"}', "line 1, column 7: unexpected"),
        ("{} {}", "line 1, column 4: something follows"),
    ],
)
def test_a_broken_file_is_refused_with_its_place(tmp_path: Path, text: str, where: str) -> None:
    file = file_with_folder(tmp_path)
    file.path.write_text(text)
    with pytest.raises(FormatError, match=re.escape(where)):
        file.install()
    with pytest.raises(FormatError) as told:
        file.with_entries()
    assert str(told.value).count(str(file.path)) == 1
    assert [path.name for path in file.path.parent.iterdir()] == [file.path.name]
    assert file.path.read_text() == text


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    file = file_with_folder(tmp_path)
    file.path.write_bytes('{\n"ü": "é"}'.encode().replace("é".encode(), b"\xe9"))
    with pytest.raises(FormatError, match="line 2, column 7: it is not UTF-8"):
        file.install()


# MCP server and skill

TOML = """\
# mine
model = "small" # best
[mcp_servers.other]
command = "other" # keep
[tools]
"""


def files_of(host: str, project: Path) -> list[SettingsFile]:
    root = str(project / "memory")
    return installed_files(find_host(host), "/opt/commonplace", root, project, with_mcp=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("host", [name for name in NAMES if find_host(name).settings.mcp[0]])
@pytest.mark.parametrize("json_text", ["", '{\n  "mcpServers": {"a": {}}, // mine\n}\n'])
@pytest.mark.parametrize("toml_text", ["", TOML, TOML.rstrip(), TOML.replace("\n", "\r\n"), "\n\n"])
def test_all_files_of_a_host_come_back(
    host: str, json_text: str, toml_text: str, tmp_path: Path
) -> None:
    for file in files_of(host, tmp_path):
        text = {".json": json_text, ".toml": toml_text, ".md": "", ".js": ""}[file.path.suffix]
        file.path.parent.mkdir(parents=True, exist_ok=True)
        if text:
            file.path.write_bytes(text.encode())
    before = contents(tmp_path)
    files = files_of(host, tmp_path)
    assert [file.install() for file in files] == [True] * len(files)
    after = contents(tmp_path)
    assert [file.install() for file in files] == [False] * len(files)
    assert contents(tmp_path) == after
    assert [file.uninstall() for file in files] == [True] * len(files)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("text", [TOML, TOML.replace("\n", "\r\n"), "\n\n", "a = 1\n\n"])
def test_a_table_is_taken_out_where_others_have_written_since(text: str) -> None:
    more = add_server(text, ["commonplace", "mcp"], "mcp_servers") + "\n[others]\nown = 1\n"
    left = drop_server(more, "mcp_servers")
    assert left == text + "\n[others]\nown = 1\n"


def test_the_server_is_named_with_its_memory(tmp_path: Path) -> None:
    for file in files_of("codex", tmp_path) + files_of("claude-code", tmp_path):
        file.install()
    toml = tomllib.loads((tmp_path / ".codex" / "config.toml").read_text())
    in_json = json.loads((tmp_path / ".mcp.json").read_text())
    command = {"command": "/opt/commonplace", "args": ["--root", f"{tmp_path}/memory", "mcp"]}
    assert toml["mcp_servers"]["commonplace"] == command
    assert in_json["mcpServers"]["commonplace"] == command


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("mcpServers", '{"mcpServers": {"commonplace": {"command": "own"}}}'),
        ("mcpServers", '{"mcpServers": {"commonplace": {"url": "http://commonplace/mcp"}}}'),
        ("mcp", '{"mcp": {"commonplace": {"type": "local", "command": ["own", "mcp"]}}}'),
        ("mcp", '{"mcp": {"commonplace": {"type": "local", "command": []}}}'),
        ("mcp_servers", '[mcp_servers.commonplace]\ncommand = "own"\n'),
    ],
)
def test_a_server_of_somebody_else_with_our_name_stays(key: str, text: str) -> None:
    assert add_server(text, ["commonplace", "mcp"], key) == text
    assert drop_server(text, key) == text
    assert installed_server(text, key) is None


def test_each_host_gets_the_server_in_its_own_form(tmp_path: Path) -> None:
    files = [file for host in ("cursor", "opencode", "vscode") for file in files_of(host, tmp_path)]
    assert [str(file.path.relative_to(tmp_path)) for file in files] == [
        ".cursor/hooks.json",
        ".cursor/mcp.json",
        ".cursor/skills/commonplace/SKILL.md",
        ".opencode/plugins/commonplace.js",
        "opencode.json",
        ".opencode/skills/commonplace/SKILL.md",
        ".vscode/mcp.json",
        ".github/skills/commonplace/SKILL.md",
    ]
    for file in files:
        file.install()
    own = ["--root", f"{tmp_path}/memory", "mcp"]
    cursor = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())
    assert cursor == {"mcpServers": {"commonplace": {"command": "/opt/commonplace", "args": own}}}
    entry = {"type": "local", "command": ["/opt/commonplace", *own], "enabled": True}
    assert json.loads((tmp_path / "opencode.json").read_text()) == {"mcp": {"commonplace": entry}}
    vscode = json.loads((tmp_path / ".vscode" / "mcp.json").read_text())
    in_stdio = {"type": "stdio", "command": "/opt/commonplace", "args": own}
    assert vscode == {"servers": {"commonplace": in_stdio}}


def test_hooks_of_cursor_are_plain_lists_of_a_version(tmp_path: Path) -> None:
    file = file_with_folder(tmp_path, "cursor")
    file.path.write_text('{"version": 1, "hooks": {"stop": [{"command": "./own.sh"}]}}')
    file.install()
    settings = json.loads(file.path.read_text())
    own = {"command": "'/opt/my tools/commonplace' hook cursor"}
    events = ("sessionStart", "beforeSubmitPrompt", "afterAgentResponse")
    assert settings["hooks"] == {"stop": [{"command": "./own.sh"}]} | {key: [own] for key in events}
    assert settings["version"] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="settings of users are elsewhere there")
def test_the_settings_of_a_user_are_where_the_host_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("OPENCODE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def places(host: str) -> list[str]:
        files = installed_files(find_host(host), "/opt/commonplace", "/m", None, with_mcp=True)
        return [str(file.path.relative_to(tmp_path)) for file in files]

    code = "Library/Application Support" if sys.platform == "darwin" else "config"
    skill = "skills/commonplace/SKILL.md"
    assert places("vscode") == [f"{code}/Code/User/mcp.json", f".copilot/{skill}"]
    assert places("opencode") == [
        "config/opencode/plugins/commonplace.js",
        "config/opencode/opencode.json",
        f"config/opencode/{skill}",
    ]


def test_the_plugin_of_opencode_names_its_command(tmp_path: Path) -> None:
    host = find_host("opencode")
    command = ['/opt/my "tools"/commonplace', "--root", "/m\\1", "hook", "opencode"]
    file = hooks_file(host, command, tmp_path)
    assert file.install()
    text = file.path.read_text()
    assert plugin_command(host, text) == [shlex.join(command)]
    assert f"const COMMAND = {json.dumps(command)}\n" in text
    for other in ("", "const COMMAND = [", 'const COMMAND = ["evil", "hook", "opencode"]'):
        assert plugin_command(host, other) == []
    newer = hooks_file(host, ["/new/commonplace", "hook", "opencode"], tmp_path)
    assert newer.install()
    assert "my" not in plugin_command(host, newer.path.read_text())[0]
    assert newer.uninstall()
    assert [*tmp_path.rglob("plugins")] == []


APPROVED = '\n[mcp_servers.commonplace.tools.search]\napproval_mode = "approve"\n'


@pytest.mark.parametrize("before", [TOML, "", "\ufeff" + TOML])
def test_what_codex_may_call_unasked_stays_until_the_server_goes(
    before: str, tmp_path: Path
) -> None:
    _, file, _ = files_of("codex", tmp_path)
    file.path.parent.mkdir()
    if before:
        file.path.write_text(before)
    file.install()
    with file.path.open("a") as settings:
        settings.write(APPROVED)
    as_approved = file.path.read_text()
    assert not file.install()
    assert file.path.read_text() == as_approved
    moved = ["/new/commonplace", "mcp"]
    new = add_server(as_approved, moved, "mcp_servers")
    assert installed_server(new, "mcp_servers") == moved
    assert new.endswith(APPROVED)
    assert file.uninstall()
    assert (file.path.read_text() if file.path.exists() else "") == before


def test_a_table_of_several_lines_and_a_comment_is_ours_too() -> None:
    own = '[mcp_servers.commonplace]\n# mine\ncommand = "commonplace"\nargs = [\n  "mcp",\n]\n'
    rest = 'enabled = true\n\n[mcp_servers.commonplace.env]\nA = "b"\n'
    text = f"{TOML}\n{own}{rest}\n# others\n[z]\na = 1\n"
    assert add_server(text, ["commonplace", "mcp"], "mcp_servers") == text
    new = tomllib.loads(add_server(text, ["/a/commonplace", "mcp"], "mcp_servers"))
    assert new["mcp_servers"]["commonplace"] == {
        "command": "/a/commonplace",
        "args": ["mcp"],
        "enabled": True,
        "env": {"A": "b"},
    }
    assert drop_server(text, "mcp_servers") == f"{TOML}\n# others\n[z]\na = 1\n"


@pytest.mark.parametrize(
    ("key", "entry", "own"),
    [
        ("mcpServers", {"command": "commonplace", "args": ["mcp"]}, {"trust": True}),
        ("mcp", {"type": "local", "command": ["commonplace", "mcp"]}, {"enabled": False}),
    ],
)
def test_what_a_person_adds_to_our_server_stays(
    key: str, entry: dict[str, object], own: dict[str, object]
) -> None:
    others = {"after": {"command": "x"}}
    text = json.dumps({key: {"commonplace": entry | own} | others})
    assert add_server(text, ["commonplace", "mcp"], key) == text
    new = add_server(text, ["/a/commonplace", "mcp"], key)
    assert installed_server(new, key) == ["/a/commonplace", "mcp"]
    assert json.loads(new)[key]["commonplace"].items() >= own.items()
    assert json.loads(drop_server(new, key)) == {key: others}


@pytest.mark.parametrize("host", ["claude-code", "gemini", "cursor"])
def test_hooks_that_others_put_behind_ours_are_not_moved(host: str, tmp_path: Path) -> None:
    file = file_with_folder(tmp_path, host)
    file.install()
    settings = json.loads(file.path.read_text())
    for groups in settings["hooks"].values():
        groups.append({"command": "echo"})
    file.path.write_text(json.dumps(settings))
    assert not file.install()
    assert json.loads(file.path.read_text()) == settings
    # what is not as it is written now is written anew, and so is what is there twice
    first = next(iter(settings["hooks"].values()))
    for broken in (first[1:], [*first, first[0]]):
        event = next(iter(settings["hooks"]))
        file.path.write_text(json.dumps(settings | {"hooks": settings["hooks"] | {event: broken}}))
        assert file.install()
        assert json.loads(file.path.read_text())["hooks"][event] == [first[1], first[0]]


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    file = file_with_folder(tmp_path)
    file.path.symlink_to(file.path.name)
    with pytest.raises(OSError, match="symbolic links"):
        file_with_folder(tmp_path).install()
    assert file.path.is_symlink()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = ", "line 1, column"),
        ("mcp_servers = {}\n", "edit it by hand"),
        (
            'a = 1\nmcp_servers = { b = { command = "c" } }\n',
            "line 2, column 1: mcp_servers cannot",
        ),
        ("mcp_servers = 1\n", "line 1, column 1: mcp_servers is no table"),
        (
            'a = 1\n\n  [[mcp_servers]]\ncommand = "c"\n',
            "line 3, column 5: mcp_servers is no table",
        ),
    ],
)
def test_broken_toml_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        add_server(text, ["commonplace", "mcp"], "mcp_servers")


def test_an_inline_table_is_edited_by_hand_as_the_error_says() -> None:
    text = 'mcp_servers = { b = { command = "c" } }\n[z]\n'
    command = ['/a "b"/commonplace', "--root", "/m", "mcp"]
    with pytest.raises(ValueError, match="edit it by hand") as told:
        add_server(text, command, "mcp_servers")
    entry = str(told.value).partition("put into it ")[2]
    edited = text.replace("{ b", f"{{ {entry}, b")
    assert installed_server(edited, "mcp_servers") == command
    assert add_server(edited, command, "mcp_servers") == edited
    with pytest.raises(ValueError, match=r"line 1, column 1.*put into it commonplace"):
        add_server(edited, ["commonplace", "mcp"], "mcp_servers")
    with pytest.raises(ValueError, match=r"line 1, column 1.*take commonplace out of it"):
        drop_server(edited, "mcp_servers")
    assert drop_server(text, "mcp_servers") == text


def test_a_skill_of_somebody_else_stays(tmp_path: Path) -> None:
    *_, skill = files_of("codex", tmp_path)
    skill.path.parent.mkdir(parents=True)
    skill.path.write_text("# Mine\n")
    for change in (skill.install, skill.uninstall):
        with pytest.raises(FormatError, match="is not ours"):
            change()
    assert skill.path.read_text() == "# Mine\n"


@pytest.mark.parametrize("change", ["install", "uninstall"])
@pytest.mark.parametrize("host", ["claude-code", "opencode", "hermes"])
def test_an_edited_file_of_ours_is_kept(host: str, change: str, tmp_path: Path) -> None:
    project = None if host == "hermes" else tmp_path
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HERMES_HOME", str(tmp_path))
        files = installed_files(find_host(host), "commonplace", "/m", project, with_mcp=False)
    own = [file for file in files if isinstance(file, OwnFile)]
    assert own
    for file in own:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        assert file.install()
        written = file.path.read_text()
        file.path.write_text(written + "- Mine.\n")
        assert getattr(file, change)()
        assert file.edited
        assert file.edited.read_text() == written + "- Mine.\n"
        assert file.install() is (change == "uninstall")
        assert file.path.read_text() == written


def test_a_file_of_ours_that_nobody_edited_is_not_kept(tmp_path: Path) -> None:
    *_, older = files_of("codex", tmp_path)
    older.path.parent.mkdir(parents=True)
    older.install()
    *_, newer = installed_files(find_host("codex"), "commonplace", "/new", tmp_path, with_mcp=True)
    assert newer.install()
    assert newer.edited is None
    assert [*newer.path.parent.iterdir()] == [newer.path]


def test_the_skill_keeps_the_rules_of_agent_skills() -> None:
    _, front, body = skill_text().split("---\n", 2)
    fields = yaml.safe_load(front)
    assert {*fields} <= {"name", "description", "license", "compatibility", "metadata"}
    assert fields["name"] == "commonplace"
    assert len(fields["description"]) <= 1024
    assert len(fields["compatibility"]) <= 500
    named = re.findall(r"`commonplace (\w+)", body)
    assert named
    assert {*named} <= {*load_commands()}


def test_a_link_and_the_permissions_stay(tmp_path: Path) -> None:
    file = file_with_folder(tmp_path)
    kept = tmp_path / "dotfiles.json"
    kept.write_text("{}")
    kept.chmod(0o600)
    file.path.symlink_to(kept)
    file = file_with_folder(tmp_path)
    file.install()
    assert file.path.is_symlink()
    assert "SessionEnd" in kept.read_text()
    assert {kept.stat().st_mode & 0o777, file.backup.stat().st_mode & 0o777} == {0o600}
    assert file.backup.name.endswith(BACKUP)
    file.uninstall()
    assert kept.read_text() == "{}"


def test_a_folder_that_cannot_be_written_is_told_by_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", ".hooks.json.x1y2")

    file = file_with_folder(tmp_path)
    monkeypatch.setattr("tempfile.mkstemp", refuse)
    with pytest.raises(OSError, match="make its folder writable") as told:
        file.install()
    assert (told.value.errno, told.value.filename) == (errno.EROFS, str(file.path))


def test_our_commands_are_told_from_others() -> None:
    host = find_host("codex")
    for ours in (
        "commonplace hook codex",
        "/a/commonplace --root '/b c' hook codex --project",
        # with what somebody has put before it
        "env LANG=C A='b c' commonplace hook codex",
        "LANG=C /a/commonplace hook codex",
    ):
        assert is_our_command(host, ours)
    for other in (
        *("commonplace hook gemini", "commonplace mcp", "echo hook codex", "'", None, ""),
        *("env", "LANG=C", "LANG=C echo commonplace hook codex", "=a commonplace hook codex"),
    ):
        assert not is_our_command(host, other)
