"""Cues of messages in which the linear classifier abstains: only a rule may keep these.

A secret, a request not to keep, fiction, a hypothesis, a quotation, a translation and what is told
of others look like facts to a classifier of words. The cues are wider than the vetoes of the
tables, which overrule rules, too: here a cue too many only costs a sentence that no rule knows.
"""

from __future__ import annotations

import re

CREDENTIALS = (
    r"\b(?:pass(?:word|wd|code|phrase|key|port (?:number|no))s?|pwd|pw|pins?|tokens?|credentials?"
    r"|keys?|keycode|logins?|log-?in|otp|2fa|mfa|cvv2?|cvc|iban|swift code|ssn|social security"
    r"|seed phrase|recovery (?:phrase|codes?)|(?:security|access|door|gate|alarm|entry|lock|sort"
    r"|verification|one-time|sms|unlock|backup) (?:codes?|question|answer)"
    r"|(?:account|card|routing|licen[cs]e|tax|id|policy|national insurance) (?:number|no|id)s?"
    r"|(?:credit|debit|bank) card|combination|(?:ends|ending) in \d)\b|\d{6}"
    r"|密[码碼钥鑰保]|口令|令牌|凭[证據据]|身份[证證]|证件|[卡账帳]号|账户|银行卡|信用卡|[验驗][证證]码"
    r"|(?:动态|校验|激活|取件|提取|暗|门禁|开锁|解锁|邀请)码|助记词|私钥|公钥|护照|社保|医保号|尾号"
    r"|后[四六4６6]位|登[录錄]名"
)
SILENCE = (
    r"\b(?:sav(?:e|ed|ing)|stor(?:e|ed|ing)|remember(?:ing|ed)?|forget|unsee|record(?:ed|s)?"
    r"|memor(?:y|ies|ise|ize)|secret(?:s|ly)?|private|privately|confiden\w+|nda|delete|erase|wipe"
    r"|scrub|purge|expunge|redact|retain|discreet|hush|anyone|repeat|off the|on file"
    r"|between (?:us|you|me)|to yourself|not for|no ?(?:body|one)(?: else)?"
    r" (?:knows|must|should|can)"
    r"|(?:keep|hold|hang) (?:on to )?(?:this|that|it|them)(?! in mind)"
    r"|your (?:notes?|files?|head|eyes|ears|profile|logs?)"
    r"|(?:jot|write|note|put)(?: \w+){0,2} down"
    r"|(?:log(?:ged|ging)?|drop|lose|unsay|retract|undo|scratch|strike|scrap|bin|ignore|disregard"
    r"|dismiss|discard) (?:this|that|it|what|my last|the last)"
    r"|never ?mind|take (?:that|it|this) back|pretend|didn't (?:say|hear|see)|never (?:said|heard)"
    r"|(?:leave|keep|take) (?:this|that|it|me|him|her|them) out|no further|stays? (?:here|in this)"
    r"|(?:only|just) (?:for|in|within) this|this (?:chat|conversation|session|thread)"
    r"|(?:un|non-?)disclosed|under wraps|down low|on the quiet|mum's the word|classified|tmi"
    r"|(?:don't|do not|never|haven't|have not|hasn't|can't|didn't|not) (?:tell|told|mention|share"
    r"|spread|quote|breathe|let on)|(?:just|only) (?:venting|ranting|saying))\b"
    r"|(?<![随好笔速日])[记記](?![账帳成得者性])|忘|(?<![内库缓生])存(?![量款钱折在储])|[删刪抹]"
    r"|[别別不勿][^，。]{0,6}留|留[底痕档]|不[准许許]|保密|秘密|隐私|外[传傳]|私下|清[掉除空]"
    r"|[当當](?:我|作|你)?[没沒][^人]|[别別](?:.{0,4})(?:说出|告诉|提|声张|传|当真|让)"
    r"|不要.{0,4}(?:说|提|告诉|传)|[唔咪莫勿]好?[记記講讲存留]|勿入|不入库|别[写寫进進入]|[往进進]记忆"
    r"|档案|嘴严|烂在|咱俩|你我|你知我知|仅限|只限|本次对话|这次(?:聊天|对话)|到此为止|打住|撤[回销]|作废"
    r"|收回|无视|忽略|听听就|听过就|随口|吐[个個]?槽|念叨|悄悄|偷偷|瞒|不想让|不能让|没人知道|还不知道|都不知道"
)
# What is only told, supposed, quoted or to be worked on
INVENTED = (
    r"\b(?:pretend(?:ing)?|imagin(?:e|ing)|suppos(?:e|ing)|what if|hypothe\w+|scenario"
    r"|role[ -]?play(?:ing)?|in character|character|persona|protagonist|narrator|hero(?:ine)?"
    r"|(?:short|bedtime|backstory|user) ?story|stories|fan ?fic\w*|fiction(?:al)?|screenplay|plot"
    r"|stanza|lyrics?|npc|dialogue|monologue|for (?:example|instance)|e\.g|example|sample"
    r"|placeholder|dummy|mock|test (?:user|data|case|person)|fake|made-up"
    r"|translate|translating (?:this|it)|translation:"
    r"|say (?:that|this|it) in|in other words"
    r"|how (?:do|would) (?:you|i|we|one) say|proofread|rephrase|reword|rewrite|paraphras\w*"
    r"|summari[sz]e|quot(?:e|es|ed|ing)|verse|proverb|saying goes|tagline|slogan|caption|subtitle"
    r"|if (?:i|we|he|she|they|you) (?:were|was|had|could|ever)|would've|would have|as if|i wish)\b"
    r"|假如|假[设設装裝]|[要若]是我[是有在当]|如果我[是有当]|万一|[想设設]想|扮演|角色|人设|剧[本情]|小[说說]|故事|主角"
    r"|台词|歌词|测试(?:数据|用例|用户)|假数据|假人|(?:游戏|遊戲).{0,6}(?:你|我)(?:是|当|演)|诗句|作文|[举舉]例|例[句如]|示例|翻[译譯](?:一下|下|成|为|[：:这])|[帮请]我?翻[译譯]|[译譯][成为]|怎么说|润色|改写|仿写|造句|文案|要不是|当初要"
)
QUOTED = (
    r"\"[^\" ]+(?: [^\" ]+){3,}\"|\"[^\"]*\b(?:i|i\'m|my|we|our)\b[^\"]*\""
    r"|“[^”]{8,}”|“[^”]*[我咱][^”]*”|「[^」]{4,}」"
    r"|『[^』]{4,}』|‘[^’]+ [^’]+ [^’]+’|《[^》]+》[^，。]{0,6}(?:说|写|里|中)"
)
OTHERS = (
    r"\b(?:friends?|buddy|mate|pal|colleagues?|co-?workers?|boss|neighbou?rs?|classmates?"
    r"|landlord|landlady|clients?|customers?|guy|bloke|girl|woman|man|stranger|people|everyone"
    r"|someone|somebody|they|he|she)(?:'s| has| is| was| had| also| just| always| never| keeps?)*"
    r" (?:says?|said|saying|told|tells|telling|thinks?|thought|claims?|claimed|wrote|writes|asks?"
    r"|asked|insists?|swears?|reckons?|believes?|suggests?|suggested|recommends?|mentioned)\b"
    r"|\b(?:a|this|that) (?:friend|colleague|co-?worker|guy|neighbou?r|classmate|mate|stranger)\b"
    r"|\b(?:friend|colleague|co-?worker|classmate|mate) of mine\b|\basking for a friend\b"
    r"|\baccording to\b|\bapparently\b|\brumou?r\b"
    r"|\bmy (?:\w+ )?(?:friend|colleague|co-?worker|classmate|neighbou?r|boss|client)(?:'s|s)? "
    r"(?:is|has|lives?|works?|likes?|loves?|hates?|wants?|uses?|prefers?|allergic|needs?|got)\b"
    r"|(?:朋友|同事|老板|领导|邻居|室友|同学|客户|网友|博主|专家|老师|医生|有人|人家|别人|大家)"
    r"[^，。我]{0,4}(?:说|讲|觉得|认为|问|建议|告诉|让我|推荐)|[他她]们?(?:说|觉得|认为|告诉)|据说|听说|听讲|传闻"
    r"|^(?:我(?:有个|一个|的)?)?(?:朋友|同事|邻居|室友|同学|闺蜜|哥们)(?!们?都?叫我|和我|跟我)"
)
GROUPS = {
    "credentials": CREDENTIALS,
    "silence": SILENCE,
    "invented": INVENTED,
    "quoted": QUOTED,
    "others": OTHERS,
}
CUES = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in GROUPS.items()}


def cues(message: str) -> list[str]:
    """Return the names of the groups of which a message has a cue.

    >>> cues("the wifi password is swordfish"), cues("lena lives in Bergen")
    (['credentials'], [])
    """
    text = message.replace("\u2019", "'")
    return [name for name, pattern in CUES.items() if pattern.search(text)]
