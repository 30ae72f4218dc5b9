"""Ranges of letters: Chinese, and the scripts that are written without spaces."""

from __future__ import annotations

import re

CHINESE = re.compile(r"[\u3400-\u9fff]")
"""A Chinese letter."""
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese letters, for the brackets of a pattern."""
