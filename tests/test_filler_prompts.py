"""Which prompts are filler, and which ask for something in few words."""

from __future__ import annotations

import pytest

from commonplace.doors.filler_prompts import is_filler
from commonplace.doors.injection_candidates import _WORD

FILLER = [
    "ok do it then please",
    "yes, go ahead and finish the rest",
    "thanks, looks good, next",
    "no problem, sounds good to me",
    "perfect, let's move on to the next step",
    "好的继续吧",
    "可以，就按这个来",
    "太好了，谢谢，下一步",
]
QUESTIONS = [
    "where is my resume?",
    "why did we move to Go?",
    "what did we do in May?",
    "is Will going in May?",
    "what did we agree on",
    "what are the remaining steps",
    "what was the best option",
    "我太太是做什么的",
    "我们接下来做什么",
    "剩下的部分是什么",
    "what do I do for work?",
]


@pytest.mark.parametrize("prompt", FILLER)
def test_filler_names_nothing(prompt: str) -> None:
    assert is_filler(prompt, _WORD)


@pytest.mark.parametrize("prompt", QUESTIONS)
def test_a_question_is_no_filler(prompt: str) -> None:
    assert not is_filler(prompt, _WORD)
