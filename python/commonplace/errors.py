"""Error classes, one tree for the whole package.

CommonplaceError
├── Refused        a path the sandbox will not touch (also ValueError)
├── NotFound       no such file (also FileNotFoundError)
├── Conflict       the file is not the version you saw
├── PatchFailed    an edit that does not apply exactly once (also ValueError)
├── Busy           another process holds the lock (also TimeoutError)
├── EncodingError  an argument that is not UTF-8 (also ValueError)
├── InDoubt        it is not known whether the change was made (also OSError)
├── StorageError   the operating system refused; nothing was changed (also OSError)
├── MemoryLimit    more memory than there may be (also MemoryError)
├── QueryError     a query or pattern that cannot be run (also ValueError)
├── FormatError    a file that is not in a form we read (also ValueError)
├── InvalidArgument  an argument of the wrong type, or out of its range (also TypeError, ValueError)
├── ToolError      a tool called wrongly; it says what would be right (also ValueError)
├── ModelError     a model that failed, or broke its protocol (also RuntimeError)
└── CompactionFailed  no summary worth having, or a copy that does not read back
"""


class CommonplaceError(Exception):
    """Base of every error of this package; `code` is a stable short word such as `escape`."""

    code: str = "error"


class Refused(CommonplaceError, ValueError):
    """A path that the sandbox will not touch; nothing was changed."""

    code = "refused"


class NotFound(CommonplaceError, FileNotFoundError):
    """There is no such file."""

    code = "missing"


class Conflict(CommonplaceError):
    """The file is not the version that the caller saw; nothing was changed."""

    code = "conflict"


class PatchFailed(CommonplaceError, ValueError):
    """An edit that does not apply exactly once; nothing was changed."""

    code = "patch"


class Busy(CommonplaceError, TimeoutError):
    """Another process holds the lock."""

    code = "busy"


class EncodingError(CommonplaceError, ValueError):
    """An argument that cannot be written as UTF-8; nothing was changed."""

    code = "encoding"


class InDoubt(CommonplaceError, OSError):
    """It is not known whether the change was made, or whether it survives a power cut.

    Read the file and look for your text before you try again.
    """

    code = "doubt"


class StorageError(CommonplaceError, OSError):
    """The operating system refused; nothing was changed.

    `code` says why, where that is known: `nospace` (also a quota), `rofs` (a read-only file
    system), `perm`, `nofile` (too many files are open), `notshared` (on Windows, another program
    has the file open and does not share it); else `storage`.
    """

    code = "storage"


class MemoryLimit(CommonplaceError, MemoryError):
    """More memory was needed than `memory_limit` or the system allows; nothing was changed."""

    code = "memory"


class QueryError(CommonplaceError, ValueError):
    """A query or pattern that cannot be run."""

    code = "query"


class FormatError(CommonplaceError, ValueError):
    """A file that is not in a form we read."""

    code = "format"


class InvalidArgument(CommonplaceError, TypeError, ValueError):
    """An argument of the wrong type, empty, or out of its range; nothing was changed."""

    code = "argument"


class ToolError(CommonplaceError, ValueError):
    """A tool that does not exist, or arguments that it does not take; nothing was done."""

    code = "tool"


class ModelError(CommonplaceError, RuntimeError):
    """A model that failed, or whose answer does not follow its protocol."""

    code = "model"


class CompactionFailed(CommonplaceError):
    """No summary worth having, or a copy that does not read back; no entry left its place."""

    code = "compaction"
