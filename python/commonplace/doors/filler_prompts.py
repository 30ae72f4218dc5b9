"""Filler prompts, in English and Chinese: words of assent, thanks and going on, and nothing else.

Such a prompt names nothing that could be looked for. What it finds are past prompts as empty as it
is, and the confidence is high, for their few words are all there.
"""

from __future__ import annotations

import re
from functools import cache

_ASSENT = (
    "ok okay yes yeah yep yup sure right alright correct exactly agree agreed got see hmm fine "
    "good great nice cool perfect awesome excellent wonderful fantastic lovely best better well "
    "ready thanks thank thx please pls lot worries go going ahead forward proceed "
    "continue keep carry finish next first second one ones "
    "rest remaining works stuff look looks sound sounds seem seems make makes sense whatever"
)
# the last ones are what an apostrophe cuts off
_FUNCTION_WORDS = (
    "a an the and or but so then now just also too still again only more much very i me my we "
    "our you your it its that this these those them they there here "
    "do does done is are be am would can could should let lets for from of off "
    "on in to at by with as up if not no any all both left s m ll re ve d t don"
)
_ENGLISH = frozenset(f"{_ASSENT} {_FUNCTION_WORDS}".split())
# longer ones first: what is left of a text without them is what it names. Words that ask ("what",
# 什么) are none of them, nor what may be asked about: work, a step, Will, May, what somebody likes
_PHRASES = (
    r"\b(?:(?:good|great|nice|excellent|fantastic) (?:job|work)|no problem|move on|next steps?"
    r"|start now)\b|"
    "太好了|太棒了|没什么|没问题|沒問題|看起来|看起來|接下来|接下來|没错|沒錯|好的|可以|不错|不錯|谢谢|謝謝|多谢|感谢|感謝|"
    "辛苦|麻烦|麻煩|帮助|明白|收到|我们|我們|那就|那么|这样|這樣|这么|這麼|这个|這個|继续|"
    "繼續|接着|接著|开始|開始|同意|下一步|下一个|下一個|下一|下个|下去|往下|然后|然後|后面|剩下|剩余|"
    "其余|部分|完成|按照|非常|"
    "[好行嗯对對是很棒赞吧啊呀哦呢了的就请請我你您那这這先再都也還还做干弄办辦来來去按说說看给給]"
)


@cache
def _phrases() -> re.Pattern[str]:
    # not at import: most hooks are asked for no prompt
    return re.compile(_PHRASES)


def is_filler(prompt: str, words: re.Pattern[str]) -> bool:
    r"""Return whether a prompt names nothing; `words` are what counts as a word of it.

    >>> is_filler("Ok thanks, 继续吧!", re.compile(r"\w+"))
    True
    >>> is_filler("Ok, next the ferry.", re.compile(r"\w+"))
    False
    """
    return all(word in _ENGLISH for word in words.findall(_phrases().sub(" ", prompt.lower())))
