"""The 25 guarantees of docs/reliability.md: a name, a number and a sentence each."""

from __future__ import annotations

ATOMIC_REPLACE = 1
DURABLE = 2
ERRORS_REPORTED = 3
TORN_LOG_END = 4
APPENDED_ONCE = 5
SAVES_KEPT = 6
NO_LOST_UPDATE = 7
CONSISTENT_READS = 8
COMPACTION = 9
DAMAGED_CACHE = 10
FRESH_INDEX = 11
PATHS_CONFINED = 12
SWAPPED_LINKS = 13
SPECIAL_FILES = 14
PORTABLE_NAMES = 15
INTERRUPTIBLE = 16
HOSTILE_MARKDOWN = 17
HOSTILE_LINES = 18
MEMORY_BOUNDED = 19
NO_LEAKS = 20
SOUND_THREADS = 21
RECALLED_DATA = 22
REDACTION = 23
CLOSED_SERVERS = 24
MUTATION_TESTED = 25

GUARANTEES = {
    ATOMIC_REPLACE: "A replace gives the old text or the new one, never a torn one.",
    DURABLE: "What was acknowledged survives a power cut.",
    ERRORS_REPORTED: "An error of the system is never reported as success, and no success "
    "as an error.",
    TORN_LOG_END: "A torn end of a log costs nothing that was acknowledged.",
    APPENDED_ONCE: "Of many writers each line stands once.",
    SAVES_KEPT: "What a person saves is never lost.",
    NO_LOST_UPDATE: "No change of another process is overwritten unseen.",
    CONSISTENT_READS: "Readers never wait and never see a mixture.",
    COMPACTION: "Compaction loses nothing and keeps nothing twice.",
    DAMAGED_CACHE: "A damaged cache never gives a wrong answer.",
    FRESH_INDEX: "A stale index never shows.",
    PATHS_CONFINED: "No path leads out of the root.",
    SWAPPED_LINKS: "Links that are swapped in between lead nowhere.",
    SPECIAL_FILES: "FIFO, device, socket and hard link are refused or passed over, at once.",
    PORTABLE_NAMES: "Names of Windows and Unicode get the same verdict everywhere.",
    INTERRUPTIBLE: "A pattern takes bounded time, and a long call can be interrupted.",
    HOSTILE_MARKDOWN: "Hostile Markdown takes bounded time.",
    HOSTILE_LINES: "A hostile line of a log hides no other.",
    MEMORY_BOUNDED: "Memory is bounded.",
    NO_LEAKS: "Under load nothing grows.",
    SOUND_THREADS: "Threads, forks and unsafe code are sound, and no panic reaches Python.",
    RECALLED_DATA: "Recalled text is data.",
    REDACTION: "Secrets are redacted when that is asked.",
    CLOSED_SERVERS: "Web and MCP are closed to other sites.",
    MUTATION_TESTED: "The tests fail when a safeguard is removed.",
}
