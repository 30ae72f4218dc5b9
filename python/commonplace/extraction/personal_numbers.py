"""Detection of personal numbers: payment cards, bank accounts, identity numbers and PINs.

A number is one by its check digit, or by its name. Redaction of secrets does not know these, so
extraction, which decides by itself what is kept, leaves out the sentence.

Source: ISO/IEC 7812-1 (Luhn) for cards, ISO 13616 (modulo 97) for IBANs, GB 11643 (modulo 11) for
Chinese identity cards.
"""

from __future__ import annotations

import re

CARD = re.compile(r"(?<![\w.+-])\d(?:[ -]?\d){12,18}(?![\w-])")
IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?!\w)")
IDENTITY_CARD = re.compile(r"(?<!\d)\d{17}[\dXx](?!\w)")
SOCIAL_SECURITY = re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])")
# What only its name tells; the words between hold no other number
NAMED = re.compile(
    r"\b(?:pin|cvv2?|cvc2?)\b[^\d\n]{0,30}(?<!\d)\d{3,8}\b"
    r"|\b(?:ssn|social security)\b[^\d\n]{0,30}\d{3}[ -]?\d{2}[ -]?\d{4}\b"
    r"|(?:身份证|银行卡|信用卡|储蓄卡|社保卡?|卡)号?(?:码)?[^\d\n，。]{0,8}\d(?:[ -]?\d){12,18}",
    re.IGNORECASE,
)
WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


def holds_personal_number(text: str) -> bool:
    """Say whether a text holds a number with which others could pay, or pass for its owner.

    >>> holds_personal_number("my card is 4539 1488 0343 6467"), holds_personal_number("我今年30岁")
    (True, False)
    """
    return bool(
        NAMED.search(text)
        or SOCIAL_SECURITY.search(text)
        or any(is_card(found[0]) for found in CARD.finditer(text))
        or any(is_iban(found[0]) for found in IBAN.finditer(text))
        or any(is_identity_card(found[0]) for found in IDENTITY_CARD.finditer(text))
    )


def is_card(said: str) -> bool:
    """Say whether the check digit of a card number is right (Luhn)."""
    digits = [int(one) for one in reversed(re.sub(r"\D", "", said))]
    doubled = [sum(divmod(2 * one, 10)) for one in digits[1::2]]
    return len(set(digits)) > 1 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def is_iban(said: str) -> bool:
    """Say whether the check digits of an IBAN are right."""
    bare = said.replace(" ", "")
    return int("".join(str(int(one, 36)) for one in bare[4:] + bare[:4])) % 97 == 1


def is_identity_card(said: str) -> bool:
    """Say whether the check digit of the number of a Chinese identity card is right."""
    total = sum(int(one) * weight for one, weight in zip(said, WEIGHTS, strict=False))
    return "10X98765432"[total % 11] == said[-1].upper()
