"""Redaction that keeps relations: each host, address, account, user, key and token becomes one stable token of the same
shape, so that formats still parse and a reader can still see that two lines speak of the same host.

A Redactor belongs to one bundle; its numbering (first seen, first numbered) says nothing about the originals.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

_SECRET_WORDS = (
    "token", "secret", "passwd", "password", "passphrase", "api_key", "api-key", "apikey", "access_key", "access-key",
    "accesskey", "private_key", "private-key", "privatekey", "credential", "authorization", "cookie", "session_key",
    "session-key", "auth_key", "auth-key",
)  # fmt: skip
# Bounded, so that a run of a million word characters costs a million steps and not a million squared.
_SECRET_NAME = rf"[A-Za-z0-9_.-]{{0,64}}(?:{'|'.join(_SECRET_WORDS)})[A-Za-z0-9_.-]{{0,64}}"
# Names that look secret and are not: token counts and ids of the model world, whose values diagnosis needs.
HARMLESS_NAME = re.compile(
    r"(?i)(^|[_.-])(pad|bos|eos|unk|sep|cls|mask|image|video|audio|max|min|num|n|new|total|prompt|generation|"
    r"batched|input|output|special|decoder|forced|suppress|begin|tokens?_per|vocab)[_.-]|tokens($|[_.-])|tokenizer|"
    r"tokens?_per|_token_ids?$|token_count|token_type|max_token|per_token|parallelism"
)
_PLAIN = re.compile(
    r"(?i)^(none|null|nan|-?infinity|true|false|unset|-?\d{1,6}|-?\d+\.\d*(e[+-]?\d+)?|-\d+|"
    r"\*+|<[^>]*>|redacted\w*|\$\{?\w+\}?|no|yes|set|)$"
)

_PUBLIC_HOSTS = (
    "amazonaws.com", "amazon.com", "aws.dev", "huggingface.co", "hf.co", "github.com", "githubusercontent.com",
    "pypi.org", "pythonhosted.org", "python.org", "pytorch.org", "ubuntu.com", "debian.org", "readthedocs-hosted.com",
    "ghcr.io", "docker.io", "k8s.io", "kubernetes.io", "localhost.localdomain",
)  # fmt: skip
_SYSTEM_USERS = {"root", "ubuntu", "ec2-user", "user", "nobody", "admin", "runner", "model-server", "sagemaker-user"}


class Redactor:
    """`text(str)` and `name(str)` redact; `counts` says how many distinct values of each kind were replaced."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, str]] = {}
        self._users: set[str] = set()

    @property
    def counts(self) -> dict[str, int]:
        return {kind: len(values) for kind, values in sorted(self._known.items())}

    def text(self, text: str) -> str:
        """A text with everything private replaced. Linear in the length of the text."""
        # Colours and NULs go: they would glue to the word beside them, or split it, and hide it from the patterns.
        text = text.replace("\0", "")
        text = _COLOUR.sub("", text) if "[" in text else text
        escaped = "\\" in text
        if escaped:
            for mark, written in _ESCAPES:
                text = text.replace(written, mark)
        lowered = text.lower()
        for needles, pattern, replace in self._steps():
            if not needles or any(needle in lowered for needle in needles):
                text = pattern.sub(replace, text)
        if escaped:
            for mark, written in _ESCAPES:
                text = text.replace(mark, written)
        return text

    def name(self, name: str) -> str:
        """A file name, redacted like text."""
        return self.text(name)

    def _steps(self) -> tuple[tuple[tuple[str, ...], re.Pattern[str], Callable[[re.Match[str]], str]], ...]:
        """Texts (lower case) of which one must occur for the step to be worth its time, the pattern, the replacement."""
        return (
            (("key-----", "block-----"), _PEM_BLOCK, self._pem),
            (_AWS_KEY_STARTS, _AWS_KEY, lambda m: self._token("access-key", m[0], m[0][:4] + "REDACTED{:08d}")),
            (_TOKEN_STARTS, _KNOWN_TOKEN, lambda m: m[1] + self._token("token", m[0], "REDACTED{:06d}")),
            (("eyj",), _JWT, lambda m: self._token("token", m[0], "REDACTED{:06d}")),
            (("bearer", "basic", "token"), _BEARER, lambda m: m[1] + self._token("token", m[2], "REDACTED{:06d}")),
            (("://",), _URL_LOGIN, lambda m: m[1] + self._token("login", m[2], "user{:d}:REDACTED") + "@"),
            (_SECRET_WORDS, _SECRET_PAIR, self._secret_pair),
            (_SECRET_WORDS, _SECRET_FLAG, self._secret_pair),
            (("arn:aws",), _ARN_ACCOUNT, lambda m: m[1] + self._token("account", m[2], "{:012d}") + m[3]),
            (("account",), _ACCOUNT, lambda m: m[1] + self._token("account", m[2], "{:012d}")),
            ((".dkr.ecr.",), _ECR_ACCOUNT, lambda m: self._token("account", m[1], "{:012d}") + m[2]),
            ((), _AWS_ID, lambda m: m[1] + self._token("resource", m[0], "{:0" + str(len(m[2])) + "x}")),
            (("@",), _EMAIL, lambda m: self._token("email", m[0], "user{:d}@example.invalid")),
            (("ip-",), _IP_HOST, self._ip_host),
            (("hostname", "nodename", "host="), _HOST_NAME, self._host_name),
            ((), _HOST, self._host),
            ((), _IPV4, self._ipv4),
            ((), _IPV6, self._ipv6),
            ((), _MAC, lambda m: self._token("mac", m[0].lower(), "02:00:00:00:{0[0]:02x}:{0[1]:02x}")),
            (("/home/", "/users/"), _HOME, self._home),
            (("user", "owner", "logname"), _USER_NAME, self._user_name),
        )

    def _token(self, kind: str, value: str, shape: str) -> str:
        values = self._known.setdefault(kind, {})
        found = values.get(value)
        if found is None:
            number = len(values) + 1
            found = values[value] = shape.format((number >> 8 & 255, number & 255) if "{0[" in shape else number)
        return found

    def _pem(self, match: re.Match[str]) -> str:
        """A key with each long word of its body as one token: line ends and launcher prefixes stay as they are."""
        return match[1] + _PEM_WORD.sub(lambda m: m[1] + self._token("private-key", m[2], "REDACTEDKEY{:04d}"), match[2])

    def _secret_pair(self, match: re.Match[str]) -> str:
        name, middle = match["name"], match["middle"]
        value = match["value"].rstrip("\ufdd0")  # half of the escaped quote behind it
        rest = match["value"][len(value) :]
        if HARMLESS_NAME.search(name) or _PLAIN.match(value) or value.startswith(("REDACTED", "user")):
            return match[0]
        # A bare number stays a number, or JSON would no longer be JSON.
        shape = "{:0" + str(len(value)) + "d}" if value.isdecimal() and value.isascii() else "REDACTED{:06d}"
        if value.isdecimal() and value[0] != "0":
            shape = "9" + "{:0" + str(len(value) - 1) + "d}"
        return name + middle + self._token("secret", value, shape) + rest

    def _ip_host(self, match: re.Match[str]) -> str:
        dotted = match[2].replace("-", ".")
        try:
            ipaddress.IPv4Address(dotted)
        except ValueError:
            return match[0]
        return match[1] + self._address(dotted).replace(".", "-") + self._domain(match[3] or "")

    def _domain(self, domain: str) -> str:
        return domain if not domain or domain.endswith((".internal", ".amazonaws.com")) else ".example.invalid"

    def _host(self, match: re.Match[str]) -> str:
        host = match[0].lower()
        if host.endswith(_PUBLIC_HOSTS) or host.startswith("ip-") or host.endswith("example.invalid"):
            return match[0]
        return self._token("host", host, "host{:d}.example.invalid")

    def _host_name(self, match: re.Match[str]) -> str:
        if match[2].startswith(("ip-", "host")) or match[2] in ("localhost", "0.0.0.0"):
            return match[0]
        return match[1] + self._token("host", match[2].lower(), "host{:d}")

    def _user_name(self, match: re.Match[str]) -> str:
        if match[2] in _SYSTEM_USERS or re.fullmatch(r"user\d+|\d+", match[2]):
            return match[0]
        return match[1] + self._token("user", match[2], "user{:d}")

    def _address(self, dotted: str) -> str:
        """One address of the benchmarking range 198.18.0.0/15 (RFC 2544) for each private or public address."""
        values = self._known.setdefault("address", {})
        if dotted not in values:
            number = len(values) + 1
            values[dotted] = f"198.{18 + (number >> 16 & 1)}.{number >> 8 & 255}.{number & 255}"
        return values[dotted]

    def _ipv4(self, match: re.Match[str]) -> str:
        try:
            address = ipaddress.IPv4Address(match[0])
        except ValueError:
            return match[0]
        kept = address.is_loopback or address.is_unspecified or address.is_multicast or address in _OURS
        # 169.254.169.254 is the metadata service of every instance; a version such as 2.20.28.0 is no address.
        if kept or address.is_link_local or int(address) >> 24 in (0, 1, 2, 3, 4, 5, 255):
            return match[0]
        return self._address(match[0])

    def _ipv6(self, match: re.Match[str]) -> str:
        try:
            address = ipaddress.IPv6Address(match[0])
        except ValueError:
            return match[0]
        if address.is_loopback or address.is_unspecified:
            return match[0]
        return self._token("address6", str(address), "2001:db8::{:x}")

    def _home(self, match: re.Match[str]) -> str:
        user = match[2]
        if user in _SYSTEM_USERS or re.fullmatch(r"user\d+", user):
            return match[0]
        return match[1] + self._token("user", user, "user{:d}")


_ESCAPES = (("\ufdd0", "\\\\"), ("\ufdd1", "\\n"), ("\ufdd2", "\\r"), ("\ufdd3", "\\t"), ("\ufdd4", '\\"'))
"""Escapes of JSON and of shells stand for one character while the patterns look: `\\nhf_...` is a token at the start of a line,
and `\\"` ends a value. The characters are ones that no text has (noncharacters of Unicode)."""
_QUOTE = "[\"'\ufdd0\ufdd4]"
_COLOUR = re.compile(r"(?:\x1b|\x9b|\\u001b|\\x1b|\\033|#033|\^\[)\[[0-?]{0,32}[ -/]{0,4}[@-~]")
"""Also as loggers write it out."""
_OURS = ipaddress.IPv4Network("198.18.0.0/15")
_PEM_BLOCK = re.compile(r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)((?:(?!-----).){0,16384})", re.DOTALL)
_PEM_WORD = re.compile(r"((?:\\[nrt])?)([A-Za-z0-9+/=]{16,4096})")
_AWS_KEY_STARTS = ("akia", "asia", "aroa", "aida", "anpa", "agpa")
_TOKEN_STARTS = ("hf_", "ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "xox", "sk-", "pypi-", "npm_",
                 "dckr_pat_", "aiza", "api_org_")  # fmt: skip
_HOST_NAME = re.compile(r"(?i)\b((?:hostname|nodename|host)\s{0,2}[=:]\s{0,4}[\"']?)([A-Za-z][A-Za-z0-9-]{1,62})\b(?![.\w(])")
_USER_NAME = re.compile(r"\b((?:USER|LOGNAME|SUDO_USER|owner|User)=[\"']?)([A-Za-z_][A-Za-z0-9_.-]{1,31})\b")
_ACCOUNT = re.compile(r"(?i)(account(?:[_ -]?id)?[\"']?\s{0,2}[=:]\s{0,4}[\"']?)(\d{12})\b")
_AWS_KEY = re.compile(r"(?<![A-Z0-9])(?:AKIA|ASIA|AROA|AIDA|ANPA|AGPA)[A-Z0-9]{16}(?![A-Z0-9])")
_KNOWN_TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(hf_|ghp_|gho_|ghs_|ghu_|github_pat_|glpat-|xox[abprs]-|sk-ant-|sk-proj-|sk-|pypi-|npm_|dckr_pat_|AIza|api_org_)"
    r"[A-Za-z0-9_-]{16,256}"
)
_JWT = re.compile(r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,2048}\.[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,1024}")
_BEARER = re.compile(r"(?i)\b((?:bearer|basic|token)\s+)([A-Za-z0-9._~+/=-]{12,4096})")
_URL_LOGIN = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]{1,20}://)([^\s/:@'\"]{1,256}:[^\s/@'\"]{1,256})@")
_SECRET_PAIR = re.compile(
    rf"(?i)(?P<name>{_SECRET_NAME})(?P<middle>{_QUOTE}{{0,6}}\s{{0,4}}[=:]\s{{0,4}}{_QUOTE}{{0,6}})"
    r"(?P<value>[^\s\"',;&}{\[\]()\ufdd1-\ufdd4][^\s\"',;&}\]\ufdd1-\ufdd4]{0,4096})"
)
_SECRET_FLAG = re.compile(
    rf"(?i)(?P<name>--?{_SECRET_NAME})(?P<middle>{_QUOTE}{{0,6}},?\s{{1,4}}{_QUOTE}{{0,6}})"
    r"(?P<value>[^\s\"'\ufdd1-\ufdd4-][^\s\"'\ufdd1-\ufdd4]{0,4096})"
)
_ARN_ACCOUNT = re.compile(r"\b(arn:aws[a-z-]*:[a-z0-9-]*:[a-z0-9-]*:)(\d{12})(:)")
_ECR_ACCOUNT = re.compile(r"(?<!\d)(\d{12})(\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com)")
_AWS_ID = re.compile(r"\b((?:i|vpc|subnet|sg|eni|vol|snap|ami|fs|eipalloc|rtb|igw|lt|asg|r)-)([0-9a-f]{17}|[0-9a-f]{8})\b")
_EMAIL = re.compile(r"\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,4}\.[A-Za-z]{2,12}\b")
_IP_HOST = re.compile(r"\b(ip-)(\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3})((?:\.[a-z0-9-]{1,63}){1,4})?")
_HOST = re.compile(
    r"(?<![\w./@-])(?:[a-zA-Z0-9-]{1,63}\.){1,5}(?:internal|local|lan|corp|intra|com|net|org|io|dev|ai|cloud|cn|de|fr|uk|jp)\b"
    r"(?![\w(]|\.\w)"
)
_IPV4 = re.compile(r"(?<![\w.+-])\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\w.+-])")
_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9a-fA-F]{1,4}:){2,7}(?::?[0-9a-fA-F]{1,4}){1,7}(?![\w:.])")
_MAC = re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}(?![\w:])")
_HOME = re.compile(r"((?:/home|/Users|/fsx/home|/efs/home)/)([A-Za-z0-9._-]{1,64})")
