"""Patterns of secrets by name and by shape: what opens a door, whoever reads it. `redact.py` says what becomes of them,
`keys.py` finds private keys and packed secrets."""

from __future__ import annotations

import re

from neuronwatch.parse._lazy import lazy

SECRET_WORDS = (
    "token", "secret", "passwd", "password", "passphrase", "api_key", "api-key", "apikey", "access_key", "access-key",
    "accesskey", "private_key", "private-key", "privatekey", "credential", "authorization", "cookie", "session_key",
    "session-key", "auth_key", "auth-key",
)  # fmt: skip
OTHER_WORDS = ("pass", "pwd", "_pw", "key", "auth")
"""Of these one is in each name that OTHER_PAIR takes for that of a secret."""

# Bounded, so that a run of a million word characters costs a million steps and not a million squared.
_SECRET_NAME = rf"[A-Za-z0-9_.-]{{0,64}}(?:{'|'.join(SECRET_WORDS)})[A-Za-z0-9_.-]{{0,64}}"
# `pass` and `key` alone are words of compilers and dictionaries; with these words before them they are not.
_OTHER_NAME = (
    r"(?<![A-Za-z0-9])(?:(?-i:[A-Z0-9_]{0,40}_(?:PASS|PWD|PW|KEY|AUTH))"
    r"|[a-z0-9_.-]{0,40}(?:db|user|admin|root|mysql|pg|postgres|redis|smtp|mail|ssh|ftp|http|proxy|login|registry|docker|keystore|"
    r"ldap|service|svc)[_-]?(?:pass|pwd|pw)"
    r"|[a-z0-9_.-]{0,40}(?:storage|account|encryption|signing|master|license|shared|ssh|comet|wandb|write|client)[_-]?key(?:-data)?"
    r"|_auth|[\"'\ufdd4]auth)"
)
# Names that look secret and are not: token counts and ids of the model world, whose values diagnosis needs.
HARMLESS_NAME = lazy(
    r"(?i)(^|[_.-])(pad|bos|eos|unk|sep|cls|mask|image|video|audio|max|min|num|n|new|total|prompt|generation|"
    r"batched|input|output|special|decoder|forced|suppress|begin|tokens?_per|vocab)[_.-]|tokens($|[_.-])|tokenizer|"
    r"tokens?_per|_token_ids?$|token_count|token_type|max_token|per_token|parallelism"
)
PLAIN = lazy(
    r"(?i)^(none|null|nan|-?infinity|true|false|unset|-?\d{1,6}|-?\d+\.\d*(e[+-]?\d+)?|-\d+|"
    r"\*+|<[^>]*>|redacted\w*|\$\{?\w+\}?|no|yes|set|)$"
)
"""Values that are no secret."""

QUOTE = "[\"'\ufdd0\ufdd4]"
_MIDDLE = rf"(?P<middle>{QUOTE}{{0,6}}\s{{0,4}}[=:]\s{{0,4}}{QUOTE}{{0,6}})"
# In quotes a value goes to the closing one, else to what ends a word.
_QUOTED = "|".join(
    rf"(?<=[=:\s]{quote})[^{quote}\n\ufdd1-\ufdd3]{{1,4096}}(?={quote})" for quote in ("\"", "'", "\ufdd4")
)  # fmt: skip
_VALUE = rf"(?P<value>{_QUOTED}|[^\s\"',;&}}{{\[\]()\ufdd1-\ufdd4][^\s\"',;&}}\]\ufdd1-\ufdd4]{{0,4096}})"

AWS_KEY_STARTS = ("akia", "asia", "aroa", "aida", "anpa", "agpa", "abia", "acca")
TOKEN_STARTS = (
    "hf_", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "glrt-", "xox", "xapp-", "sk-", "sk_", "rk_",
    "pypi-", "npm_", "dckr_pat_", "aiza", "api_org_", "nvapi-", "gsk_", "hvs.", "wandb_v1_", "ya29.", "sg.", "dapi", "tskey-",
    "age-secret-key-",
)  # fmt: skip
AWS_KEY = lazy(r"(?<![A-Z0-9])(?:AKIA|ASIA|AROA|AIDA|ANPA|AGPA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])")
KNOWN_TOKEN = lazy(
    r"(?<![A-Za-z0-9])(hf_|gh[posur]_|github_pat_|gl(?:pat|rt)-|xox[abeprs]-|xapp-|sk-ant-|sk-proj-|sk-|[sr]k_(?:live|test)_|pypi-|npm_|"
    r"dckr_pat_|AIza|api_org_|nvapi-|gsk_|hvs\.|wandb_v1_|ya29\.|SG\.|dapi(?=[0-9a-f]{32})|tskey-|AGE-SECRET-KEY-)"
    r"[A-Za-z0-9_-](?:[A-Za-z0-9_.-]{14,254}[A-Za-z0-9_-]|[A-Za-z0-9_-]{15})"
)
JWT = lazy(r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,2048}\.[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,1024}")
BEARER = lazy(r"(?i)\b((?:bearer|basic|token)\s+)([A-Za-z0-9._~+/=-]{12,4096})")
URL_LOGIN = lazy(r"([a-zA-Z][a-zA-Z0-9+.-]{1,20}://)([^\s/:@'\"]{0,256}:[^\s/'\"]{1,256}|[A-Za-z0-9_-]{20,256})@")
"""`user:password`, also with an `@` in the password or without a user, and a long token alone."""
URL_SIGNATURE = lazy(r"(?i)([?&](?:x-amz-signature|x-goog-signature|signature|sig|code|key)=)([^&\s\"'<>\ufdd0-\ufdd4]{8,2048})")
WEBHOOK = lazy(
    r"(?i)((?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks|[a-z0-9-]{1,63}\.webhook\.office\.com/"
    r"webhookb2)/)([A-Za-z0-9/_@-]{10,400})"
)
SECRET_PAIR = lazy(rf"(?i)(?P<name>{_SECRET_NAME}){_MIDDLE}{_VALUE}")
OTHER_PAIR = lazy(rf"(?i)(?P<name>{_OTHER_NAME}){_MIDDLE}{_VALUE}")
SECRET_FLAG = lazy(
    rf"(?i)(?P<name>--?{_SECRET_NAME})(?P<middle>{QUOTE}{{0,6}},?\s{{1,4}}{QUOTE}{{0,6}})"
    r"(?P<value>[^\s\"'\ufdd1-\ufdd4-][^\s\"'\ufdd1-\ufdd4]{0,4096})"
)
NAMED_VALUE = lazy(
    rf"(?i)(?P<name>\bname{QUOTE}?\s{{0,4}}[:=]\s{{0,4}}{QUOTE}?(?:{_SECRET_NAME}|{_OTHER_NAME}){QUOTE}?,?)"
    rf"(?P<middle>[\s\ufdd1]{{1,200}}{QUOTE}?value{QUOTE}?\s{{0,4}}[:=]\s{{0,4}}{QUOTE}?){_VALUE}"
)
"""`name: DB_PASSWORD` and `value: x` of a pod, also as JSON."""
LOGIN_COMMAND = lazy(
    r"(\b(?:docker|podman|helm(?:\s+registry)?|crane|oras|nerdctl)\s+login\b[^\n\ufdd1]{0,200}?\s-p[\s=]{0,4}[\"']?"
    r"|\bmysql(?:dump|admin)?\b[^\n\ufdd1]{0,200}?\s-p[\"']?|\bcurl\b[^\n\ufdd1]{0,400}?\s(?:-u|--user|--proxy-user)[\s=]{0,4}[\"']?[^\s:\"']{0,100}:"
    r"|\bsshpass\s{1,4}-p\s{0,4}[\"']?|\bwandb\s+login\s+(?:--?[a-z]+\s+){0,4}[\"']?)([^\s\"'\ufdd0-\ufdd4$-][^\s\"'\ufdd0-\ufdd4]{2,400})"
)
"""Passwords that programs take in short flags."""
WANDB_KEY = lazy(r"(?i)(wandb\b[^\n\ufdd1]{0,60}?)(?<![0-9a-f])([0-9a-f]{40})(?![0-9a-f])")
"""A key of W&B is forty hexadecimal digits, as a commit is: only beside its name it is taken for a key."""
NETRC = lazy(r"(?i)(\blogin\s{1,20}\S{1,200}\s{1,20}password\s{1,20})(\S{1,400})")
PGPASS = lazy(r"(?m)^([^:\s#\"'{]{1,253}:(?:\d{2,5}|\*):[^:\s\"']{1,64}:[^:\s\"']{1,64}:)([^\s:\"',}]{3,256})$")


def is_opaque(word: str) -> bool:
    """Whether a word of forty letters, digits, `+` and `/` is no path and no name: letters of both cases and digits are
    mixed as only a key (of AWS, Azure, a private key's line) has them."""
    if len(word) < 40 or word.count("/") > 2 + len(word) // 32:
        return False
    upper, lower, digits = (len(found.findall(word)) for found in (_UPPER, _LOWER, _DIGIT))
    return upper >= 4 and lower >= 4 and digits >= 2 and not _WORDS.search(word)


_UPPER, _LOWER, _DIGIT = re.compile("[A-Z]"), re.compile("[a-z]"), re.compile("[0-9]")
_WORDS = re.compile("[a-z]{9}")
