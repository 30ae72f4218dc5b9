"""Commands `export` and `import-okf`."""

from __future__ import annotations

from commonplace.cli import options
from commonplace.cli.output import ERROR, FOUND, emit, opened
from commonplace.cli.parser import JSON, RootOptions, UsageError, command
from commonplace.cli.printer import clean, counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.doors.okf import BundleReport


@command(options.EXPORT_FORM, options.EXPORTED, options.EXPORT_PREFIX, JSON)
def export(
    opening: RootOptions, form: str, target: Path, prefix: str | None, *, as_json: bool
) -> int:
    """Write notes as a bundle (okf), or sessions as an export of ChatGPT (chatgpt).

    Nothing is lost: import-okf reads the bundle back, import the export.
    """
    if form not in options.EXPORT_FORMS:
        known = " or ".join(options.EXPORT_FORMS)
        raise UsageError(f"unknown export form {form!r}; use {known}")
    with opened(opening) as store:
        if form == "okf":
            from commonplace.doors.okf import export_bundle

            return _told(export_bundle(store, target, prefix or ""), f"wrote to {target}", as_json)
        from commonplace.doors.chat_export import export_chats

        count = export_chats(store, target, prefix or "")
    shown = clean(f"wrote to {target}: {counted(count, 'session')}")
    emit({"file": str(target), "sessions": count}) if as_json else print(shown)
    return FOUND


@command(options.BUNDLE, options.INTO, options.KEEP_SECRETS, JSON)
def import_okf(
    opening: RootOptions, folder: Path, to: str | None, *, keep_secrets: bool, as_json: bool
) -> int:
    """Import a bundle of the Open Knowledge Format as notes; nothing is overwritten.

    A file that cannot be imported is named and skipped. Exit code 2 means that none could be.
    """
    from commonplace.doors.okf import import_bundle

    with opened(opening, create=True, keep_secrets=keep_secrets) as store:
        return _told(import_bundle(store, folder, to or ""), f"took from {folder}", as_json)


def _told(report: BundleReport, done: str, as_json: bool) -> int:
    """Say what was written and what was skipped."""
    if as_json:
        names = ("written", "unchanged", "skipped", "redacted")
        emit({name: getattr(report, name) for name in names})
    else:
        same = f", {len(report.unchanged)} unchanged" if report.unchanged else ""
        print(clean(f"{done}: {counted(len(report.written), 'note')}{same}"))
        for kind, count in sorted(report.redacted.items()):
            print(f"redacted: {count} × {kind}")
        for name, why in report.skipped.items():
            print(clean(f"skipped {name}: {why}"))
    return FOUND if report.written or report.unchanged or not report.skipped else ERROR
