"""Clauses of a sentence, and items of what it lists, in English and Chinese.

What is not certainly a statement of its own stays part of the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from commonplace.conflict.tables import load
from commonplace.letter_ranges import CHINESE

_VERB = (
    r"(?:am|is|are|was|were|has|have|had|lives?|works?|prefers?|likes?|loves?|hates?|dislikes?"
    r"|enjoys?|wants?|needs?|uses?|drinks?|eats?|drives?|owns?|speaks?|stud(?:y|ies|ied)|plays?"
    r"|plans?|goes|keeps?|runs?|writes?|reads?|listens?|watch(?:es)?|knows?|thinks?|does|do|don't"
    r"|doesn't|isn't|aren't|can|can't|cannot|will|would|should|must|moved|switched|started|stopped"
    r"|quit|bought|sold|got|gave|joined|left|became|married|graduated|commutes?|sleeps?|wakes?"
    r"|takes?|teach(?:es)?|manages?|leads?|grew|avoids?|no longer|never|always|usually|now|also)"
)
# Verbs of habits and states, which are no nouns behind a comma
_REGULAR = (
    r"(?:live|work|prefer|like|love|hate|dislike|enjoy|want|need|use|drink|eat|drive|own|speak"
    r"|play|plan|keep|run|write|read|listen|know|think|commute|sleep|wake|take|manage|lead|avoid"
    r"|rent|sing|swim|ride|bake|wear|train|volunteer|collect|suffer|maintain|deploy)"
)
_PAST = (
    r"moved|switched|started|stopped|quit|bought|sold|got|gave|joined|left|became|married|graduated"
    r"|grew|no longer|never"
)
_THIRD = (
    r"(?:is|has|was|does|doesn't|isn't|goes|stud(?:ies|ied)|watches|teaches"
    rf"|{_PAST}|{_REGULAR}s)"
)
_BASE = rf"(?:am|have|don't|do not|can|can't|study|watch|teach|{_PAST}|{_REGULAR})"
# What somebody is, besides: "I'm a nurse, left-handed, and from Leeds"
_ALSO_IS = re.compile(
    r"(?:(?:allergic|intolerant|lactose|gluten|married|single|divorced|widowed|engaged|retired"
    r"|pregnant|vegan|vegetarian|pescatarian|left-handed|right-handed|deaf|dyslexic|diabetic"
    r"|asthmatic|self-employed|unemployed|colou?r-?blind)\b|(?:originally )?from [A-Z]"
    r"|(?:based|born) in |\d\d\b(?! ?%)(?= years old|,|\.|$| and)|an? (?:[\w-]+ ){0,2}[a-z]+"
    r"(?:er|or|ist|ian|ant|ent|ee|man|woman|nurse|vegan|vegetarian|chef|vet|pilot|dad|mum|mom)\b)"
)
_COPULA = re.compile(
    r"(?:(?:the )?user is|(?:i|he|she) (?:am|is)|i'm|he's|she's|we're|we are) (?=\S)", re.IGNORECASE
)
# Its subject is the user's, and it says nothing
_ASIDE = re.compile(r"(?:yes,? )?(?:i|user) (?:knows?|guess|think|swear)[.! ]*\Z", re.IGNORECASE)
# Behind these a comma goes on with what is listed
_OPEN = re.compile(r"\b(?:to|of|with|about|for|between)\b")
_NOUNS = r"(?:[\w'-]+ ){1,3}?"
# "Rex is my dog"
_NAMED = rf"(?-i:[A-Z])[a-z'-]+ (?!(?:no longer|never|always|usually|now|also)\b){_VERB}\b"
_SUBJECT = (
    rf"(?:(?:the )?user(?='s {_NOUNS}| {_VERB}\b)"
    r"|(?:i|we|you|he|she|they|it)(?:'(?:m|ve|d|s|re|ll))?(?= )"
    rf"|there (?:is|are)|{_NAMED}|(?:my|our|your|his|her|their|the) {_NOUNS}{_VERB}\b)"
)
_ORDER = (
    r"(?:(?:please |always |never )?(?:answer|reply|respond|keep|use|avoid|write|speak|call|address"
    r"|give|show|explain|include|format|indent|skip|add|put|cite|summari[sz]e|translate)\b"
    r"|(?:do not|don't|never|always|no) [a-z])"
)
# A piece that stands alone begins with its own subject, or asks for something.
_OWN = re.compile(rf"{_SUBJECT}|{_ORDER}|[\w ]{{2,24}}: ", re.IGNORECASE)
_SUBJECT_FIRST = re.compile(rf"{_SUBJECT}|(?:用户|我)", re.IGNORECASE)
ASKS = re.compile(_ORDER, re.IGNORECASE)
_ELIDED = {
    True: re.compile(rf"{_THIRD}\b", re.IGNORECASE),
    False: re.compile(rf"{_BASE}\b", re.IGNORECASE),
}
CLAUSE = re.compile(
    rf"\b(?:{_VERB}|{_BASE}|{_THIRD})\b|^{_ORDER}|'(?:m|s|re|ve)\b|^[\w ]{{2,24}}: ", re.IGNORECASE
)
_LEAD = re.compile(
    rf"(?:the )?user (?=\S)|(?:i|we|he|she|they) (?=\S)"
    rf"|(?!(?:{_THIRD}|{_BASE}|{_ORDER})\b)[A-Z][a-z]+ (?=\S)",
    re.IGNORECASE,
)
_SELF = re.compile(r"(?:the )?user |(?:i|we) ", re.IGNORECASE)
_PLURAL = re.compile(r"(?:i|we|they|you)\b", re.IGNORECASE)
_INFINITIVE = re.compile(r"\bto [a-z]+\b")

SOURCE = re.compile(r" — (?:\"[^\n]*\"|“[^\n]*”|「[^\n]*」|‘[^\n]*’|'[^\n]*')\Z")
_SENTENCE = re.compile(
    r"(?<![\s.][A-Za-z])(?<!\be\.g)(?<!\bi\.e)(?<!\b[DMJS]r)(?<!\bMrs)(?<!\bvs)(?<!\betc)[.!?]\s+(?=[A-Z\u3400-\u9fff\"'(])"
    r"|[。！？]\s*(?=\S)|[;；]\s*(?=\S)|(?<=[\u3400-\u9fff])\.(?=[\u3400-\u9fff])"
    # in chat style, where both sides say something: "i smoke. my dog is called rex"
    r"|(?P<lower>(?<=\w\w)(?<!\bvs)(?<!\betc)(?<!\binc)(?<!\bvol)(?<!\bapprox)\.\s+(?=[a-z]))"
    r"|(?P<line>[ \t\\]*\n\s*(?=[A-Z]))",
)
_BREAK = re.compile(
    r",? (?:and|but|while|whereas) (?:also )?|, |，(?:而且|并且|但是|但|也|还)?", re.IGNORECASE
)
_LIST = re.compile(r", and |, | and | & |、|，|以?及|和")
_LIKED = re.compile(
    r"(?P<lead>(?:(?:the )?user |i |we )(?:prefers?|likes?|loves?|enjoys?|wants?|hates?|dislikes?"
    r"|is|am|ha(?:s|ve)|owns?|uses?|speaks?|plays?|eats?|drinks?|knows?) "
    r"|(?:用户|我们?)?(?:最|更)?(?:喜欢|偏好|讨厌|养了?|有|会说?|用))(?=\S)",
    re.IGNORECASE,
)
KEY = re.compile(r"(?P<key>[^:：=\n]{1,30}?)\s*(?:：|:(?![\d/]))\s*(?=\S)")
# Where somebody lives, and with whom; what he works as, and for whom
_LIVES = re.compile(
    r"(?P<lead>(?:(?:the )?user |i |we )(?:lives?(?= in )|works?(?= as )) )"
    r"(?:in [^,;]+?(?= with (?:my|our|his|her|their|a ))|as [^,;]+?(?= (?:at|for) (?-i:[A-Z])))"
    r"(?P<gap> )",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"(?:user )?preferences?|likes?|styles?|偏好|喜好|喜欢|风格", re.IGNORECASE
)
_LEAD_ZH = re.compile(r"(?:用户|我们?|本人|她|他)(?=\S)")
# It begins with a thing or a person, not with what the one before it does: 缓存用 Redis
_OWN_ZH = re.compile(
    r"(?![也还都又就在是有用会爱喜不没养住搬学吃喝开骑做当从每常经平周早晚现最目今以后主正])"
    r"[\u3400-\u9fff]{1,4}?(?:用|是|叫|在|有|归|由)(?=.)"
)
# With a verb of its own it is no item of a list: "dogs are great"
_SAYS = re.compile(
    rf"\S+ (?:am|is|are|was|were|has|have|had|does|did|can|will|would|should|must|{_THIRD})\b \S",
    re.IGNORECASE,
)
# Such a piece belongs to the one before it.
_BOUND_ZH = re.compile(
    r"(?:因为|所以|因此|如果|虽然|除非|尤其|特别|比如|例如|包括|以及|而不|不是|就是|即|只是|时|的|直到|每(?![天周晚月年日早个])|[^，。我]{1,4}的\Z|叫(?!我)|名叫|[一二两三四五六七八九十几\d]+多?(?:岁|年|个月|斤)|在一起|离(?:公司|单位|学校|家|地铁)|一个月|天天[喝吃玩用]\Z|一天[一二两三四五六七八九十半几\d]+[杯包根顿]\Z)"
)

# A sentence that is longer is not taken apart.
LONGEST = 1000


@dataclass(slots=True)
class Chain:
    """Pieces of one sentence; `lead` is before the first, for those that need it."""

    start: int
    end: int
    lead: tuple[int, int]
    pieces: list[tuple[int, int]] = field(default_factory=list)
    # Whether a piece needs the lead to be understood, and how that is read
    needs: list[bool] = field(default_factory=list)
    reads: str | None = None

    def holds(self, places: Collection[tuple[int, int]]) -> bool:
        """Return whether one of these places is a piece."""
        return any(piece in places for piece in self.pieces)


def chains(text: str, start: int, end: int) -> Iterator[Chain]:
    """Cut a line or paragraph into sentences, and those into pieces.

    A source that is quoted at its end belongs to the last sentence, and is not read.
    """
    at = start
    source = SOURCE.search(text, start, end)
    body = source.start() if source else end
    for stop in _SENTENCE.finditer(text, start, body):
        is_doubtful = stop["lower"] or stop["line"]
        if is_doubtful and not _are_sentences(text[at : stop.start()], text[stop.end() : body]):
            continue
        closed = 0 if stop["line"] or stop[0][0] in ";；" else 1
        yield _chain(text, at, stop.start() + closed)
        at = stop.end()
    chain = _chain(text, at, body)
    chain.end = end
    yield chain


# What so ends goes on in the next line
_OPEN = re.compile(
    r"(?:,|\b(?:a|an|the|to|at|in|on|near|of|for|with|and|or|is|are|has|likes?|uses?|prefers?))\s*$"
)


def _are_sentences(left: str, right: str) -> bool:
    """Say whether both sides of a doubtful end of a sentence say something by themselves."""
    if _OPEN.search(left):
        return False
    begins = _OWN.match(right) or any(verb.match(right) for verb in _ELIDED.values())
    also = _ALSO_IS.match(right[:1].lower() + right[1:])
    return bool(CLAUSE.search(left) or _ALSO_IS.match(left)) and bool(begins or also)


def _chain(text: str, start: int, end: int) -> Chain:
    """Cut a sentence into clauses, or its list into items."""
    inner = end - (text[end - 1] in ".!?。！？;；" if end > start else 0)
    inner = max(inner, start + 1) if end > start else end
    if end - start > LONGEST:
        return Chain(start, end, (start, start), [(start, inner)], [False])
    key = KEY.match(text, start, inner)
    liked = _LIKED.match(text, start, inner)
    if key and not re.match(r"https?", key["key"]):
        chain = Chain(start, end, (start, key.end()))
        if load().many.search(key["key"].strip().casefold()):
            chain.reads = "User prefers " if _PREFERENCE.fullmatch(key["key"].strip()) else None
            return _listed(text, chain, key.end(), inner)
        chain.pieces = list(_clauses(text, start, inner))
        chain.needs = [False] * len(chain.pieces)
        return chain
    clauses = list(_clauses(text, start, inner))
    if len(clauses) == 1 and liked:
        return _listed(text, Chain(start, end, (start, liked.end())), liked.end(), inner)
    return _of_clauses(text, start, end, clauses)


def _of_clauses(text: str, start: int, end: int, clauses: list[tuple[int, int]]) -> Chain:
    """Return the chain of a sentence of these clauses, and which of them need its subject."""
    inner = clauses[-1][1]
    chain = Chain(start, end, (start, start), clauses)
    also = [bool(_ALSO_IS.match(text, *clause)) for clause in clauses[1:]]
    if copula := _COPULA.match(text, start, inner) if any(also) else None:
        chain.lead, chain.needs = copula.span(), [False, *also]
        return chain
    lead = _LEAD_ZH.match(text, start, inner) or _first_subject(text, clauses)
    chain.lead = lead.span() if lead else chain.lead
    chain.needs = [
        bool(number and lead and lead.start() < begin) and not _has_subject(text[begin:stop])
        for number, (begin, stop) in enumerate(clauses)
    ]
    return chain if any(chain.needs) else _with_company(text, chain)


def _with_company(text: str, chain: Chain) -> Chain:
    """Return a chain in which place and company, or role and employer, are two pieces."""
    for number, piece in enumerate(chain.pieces):
        if lives := _LIVES.match(text, *piece):
            chain.pieces[number : number + 1] = [
                (piece[0], lives.start("gap")),
                (lives.end("gap"), piece[1]),
            ]
            chain.lead = lives.span("lead")
            chain.needs.insert(number + 1, True)
            break
    return chain


def _first_subject(text: str, clauses: list[tuple[int, int]]) -> re.Match[str] | None:
    """Return the subject of the first clause, or of the first that has the user for its own."""
    leads = (
        found
        for number, (start, stop) in enumerate(clauses)
        if (found := _LEAD.match(text, start, stop)) and (not number or _SELF.match(found[0]))
    )
    return next(leads, None)


def _listed(text: str, chain: Chain, start: int, end: int) -> Chain:
    """Fill a chain with the items of a list, which all need what stands before it."""
    cuts = [
        (start, start),
        *(found.span() for found in _LIST.finditer(text, start, end)),
        (end, end),
    ]
    items = [(left[1], right[0]) for left, right in pairwise(cuts)]
    words = [text[begin:stop] for begin, stop in items]
    short = all(word.strip() and len(word.split()) <= 5 for word in words)
    short = short and len({word.startswith("to ") for word in words}) == 1
    if (
        not short
        or len(items) == 1
        or words[-1].endswith("的")
        or any(re.search(r"\b(?:over|than|between|both|it|them)\b|比", word) for word in words)
        or any(map(_SAYS.match, words))
    ):
        # its words stand by themselves
        chain.pieces, chain.needs, chain.reads = [(chain.start, end)], [False], None
    else:
        chain.pieces, chain.needs = items, [True] * len(items)
    return chain


def _clauses(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the clauses of a sentence: places where each side stands by itself."""
    begin = start
    for found in _BREAK.finditer(text, start, end):
        if found.start() < begin or found.end() >= end:
            continue
        left, right = text[begin : found.start()], text[found.end() : end]
        if _are_apart(left, right, text[start:end], chinese=found[0].startswith("，")):
            yield begin, found.start()
            begin = found.end()
    yield begin, end


def _are_apart(left: str, right: str, sentence: str, *, chinese: bool) -> bool:
    """Say whether two sides of a break are statements of their own."""
    if KEY.match(left):
        # the value may be a list
        return bool(KEY.match(right) or _SUBJECT_FIRST.match(right))
    if chinese or (CHINESE.match(right) and CHINESE.search(left)):
        piece = re.split(r"[，,]", right, maxsplit=1)[0]
        return len(left) >= 2 and len(piece) >= 2 and not _BOUND_ZH.match(piece)
    if _COPULA.match(sentence) and _ALSO_IS.match(right) and not _OPEN.search(left):
        return True
    if _ASIDE.match(right) or not (CLAUSE.search(left) or _ALSO_IS.match(left)):
        return False
    if _OWN.match(right):
        return not ASKS.match(right) or bool(ASKS.match(left) or ASKS.match(sentence))
    elided = _ELIDED[not _PLURAL.match(sentence)].match(right)
    return bool(elided) and not _INFINITIVE.search(left)


def _has_subject(piece: str) -> bool:
    return bool(_OWN.match(piece) or _LEAD_ZH.match(piece) or _OWN_ZH.match(piece))
