"""Log of a process as JSON lines: those of libraries and of threads too."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from commonplace.service.gate import access


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object; a line of the access log is one already."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        if record.name == access.name:
            return record.getMessage()
        time = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": time.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line)


def log_as_json() -> None:
    """Write what is logged to standard error, a JSON object per line."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(handlers=[handler], level=logging.INFO)
