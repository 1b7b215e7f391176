"""Redaction that keeps relations: each host, address, account, user, key and token becomes one stable token of the same
shape, so that formats still parse and a reader can still see that two lines speak of the same host.

A Redactor belongs to one bundle; its numbering (first seen, first numbered) says nothing about the originals.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from neuronwatch.collect import keys, patterns
from neuronwatch.collect.patterns import HARMLESS_NAME, PLAIN, SECRET_WORDS
from neuronwatch.collect.words import Words
from neuronwatch.parse._lazy import lazy

Step = tuple[tuple[str, ...], "re.Pattern[str]", Callable[[re.Match[str]], str]]

_PUBLIC_HOSTS = (
    "amazonaws.com", "amazon.com", "aws.dev", "huggingface.co", "hf.co", "github.com", "githubusercontent.com",
    "pypi.org", "pythonhosted.org", "python.org", "pytorch.org", "ubuntu.com", "debian.org", "readthedocs-hosted.com",
    "ghcr.io", "docker.io", "k8s.io", "kubernetes.io", "localhost.localdomain",
)  # fmt: skip
_SYSTEM_USERS = {
    "root", "ubuntu", "ec2-user", "user", "nobody", "admin", "runner", "model-server", "sagemaker-user", "www-data", "daemon",
    "bin", "sys", "sync", "games", "man", "lp", "mail", "news", "uucp", "proxy", "backup", "list", "irc", "syslog", "messagebus",
    "systemd", "sshd", "debian", "centos", "rocky", "fedora", "docker", "slurm", "munge", "postgres", "mysql", "redis", "nginx",
    "jovyan", "git", "vscode", "hadoop", "airflow", "jenkins", "dbus", "chrony", "polkitd", "tss", "landscape", "_apt", "_chrony",
}  # fmt: skip


def _replaced(pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str], text: str) -> str:
    """As `pattern.sub`; but where the value of a pair is kept (a harmless name, `tokens: `), the search goes on within it: it may
    be the name of the next pair, also in the next line."""
    if "(?P<value>" not in pattern.pattern:
        return pattern.sub(replace, text)
    out: list[str] = []
    done = at = 0
    while (match := pattern.search(text, at)) is not None:
        made = replace(match)
        if made == match[0]:
            at = match.start("value")
        else:
            out += [text[done : match.start()], made]
            done = at = match.end()
    return "".join([*out, text[done:]])


class Redactor:
    """`text(str)` and `name(str)` redact; `counts` says how many distinct values of each kind were replaced."""

    def __init__(self, secrets_only: bool = False) -> None:
        """`secrets_only` leaves hosts, addresses, accounts and users as they are: for reports, whose reader must find them."""
        self._known: dict[str, dict[str, str]] = {}
        self._tokens: dict[tuple[str, str], str] = {}
        self._numbers: Counter[str] = Counter()
        self._words = Words()
        self._secrets_only = secrets_only
        self._inside = False

    @property
    def counts(self) -> dict[str, int]:
        return {kind: len(values) for kind, values in sorted(self._known.items())}

    @property
    def learned(self) -> int:
        """How many hosts, users and accounts are replaced wherever they stand as a word."""
        return len(self._words)

    def again(self, text: str) -> str:
        """A text that `text` made, with what was learned since."""
        return _unescaped(self._words.replaced(_escaped(text))) if self.learned else text

    def text(self, text: str) -> str:
        """A text with everything private replaced. Linear in the length of the text."""
        # Colours and NULs go: they would glue to the word beside them, or split it, and hide it from the patterns.
        text = text.replace("\0", "")
        text = _COLOUR.sub("", text) if "[" in text else text
        text = self._without_keys(_escaped(text))
        lowered = text.lower()
        for needles, pattern, replace in (*self._secret_steps(), *(() if self._secrets_only else self._private_steps())):
            if not needles or any(needle in lowered for needle in needles):
                text = _replaced(pattern, replace, text)
        return _unescaped(self._words.replaced(text))

    def name(self, name: str) -> str:
        """A file name, redacted like text."""
        return self.text(name)

    def value(self, name: str, value: Any) -> Any:
        """A value under its name: a text that says nothing alone is a secret behind `DB_PASSWORD`."""
        if isinstance(value, str):
            cleaned, short = self.text(value), name.rpartition(".")[2]
            pair = f"{short}={value}"
            if cleaned != value or "\n" in value or not short or self.text(pair) == pair:
                return cleaned
            return self._token("secret", value, "REDACTED{:06d}")
        if isinstance(value, (list, tuple)):
            before = ["", *(item if isinstance(item, str) else "" for item in value)]
            return [self.value(flag if flag.startswith("-") else name, item) for flag, item in zip(before, value, strict=False)]
        if hasattr(value, "items"):
            return {self.text(str(key)): self.value(str(key), item) for key, item in value.items()}
        return value

    def _without_keys(self, text: str) -> str:
        def hide(word: str) -> str:
            return self._token("private-key", word, "REDACTEDKEY{:04d}")

        if "KEY-----" in text or "BLOCK-----" in text:
            text = keys.hide_ends(keys.hide_blocks(text, hide), hide)
        if "Secret" in text and "ata" in text:
            text = keys.hide_kubernetes(text, lambda word: self._token("secret", word, "REDACTED{:06d}"))
        if "LS0tLS1CRUdJTi" in text:
            text = keys.PEM_PACKED.sub(lambda m: hide(m[0]), text)
        return keys.hide_rows(text, hide)

    def _secret_steps(self) -> tuple[Step, ...]:
        """Texts (lower case) of which one must occur for the step to be worth its time, the pattern, the replacement."""

        def behind(match: re.Match[str]) -> str:
            return match[1] + (match[2] if PLAIN.match(match[2]) else self._token("token", match[2], "REDACTED{:06d}"))

        return (
            (patterns.AWS_KEY_STARTS, patterns.AWS_KEY, lambda m: self._token("access-key", m[0], m[0][:4] + "REDACTED{:08d}")),
            (patterns.TOKEN_STARTS, patterns.KNOWN_TOKEN, lambda m: m[1] + self._token("token", m[0], "REDACTED{:06d}")),
            (("eyj",), patterns.JWT, lambda m: self._token("token", m[0], "REDACTED{:06d}")),
            (("bearer", "basic", "token"), patterns.BEARER, behind),
            (("://",), patterns.URL_LOGIN, lambda m: m[1] + self._token("login", m[2], "user{:d}:REDACTED") + "@"),
            (("sig", "?key=", "&key=", "code="), patterns.URL_SIGNATURE, behind),
            (("hooks.slack.com", "/api/webhooks", "webhook.office"), patterns.WEBHOOK, behind),
            (("value",), patterns.NAMED_VALUE, self._secret_pair),
            (SECRET_WORDS, patterns.SECRET_PAIR, self._secret_pair),
            (SECRET_WORDS, patterns.SECRET_FLAG, self._secret_pair),
            (patterns.OTHER_WORDS, patterns.OTHER_PAIR, self._secret_pair),
            (("login", "mysql", "curl", "sshpass"), patterns.LOGIN_COMMAND, behind),
            (("wandb",), patterns.WANDB_KEY, behind),
            (("password",), patterns.NETRC, behind),
            ((), patterns.PGPASS, behind),
            (("@",), _EMAIL, self._email),
            ((), keys.PACKED, self._packed),
        )

    def _private_steps(self) -> tuple[Step, ...]:
        return (
            (("arn:aws",), _ARN_ACCOUNT, lambda m: m[1] + self._token("account", m[2], "{:012d}") + m[3]),
            (("account",), _ACCOUNT, lambda m: m[1] + self._token("account", m[2], "{:012d}")),
            ((".dkr.ecr.",), _ECR_ACCOUNT, lambda m: self._token("account", m[1], "{:012d}") + m[2]),
            ((), _AWS_ID, lambda m: m[1] + self._token("resource", m[0], "{:0" + str(len(m[2])) + "x}")),
            (("ip-",), _IP_HOST, self._ip_host),
            (("hostname", "nodename", "host="), _HOST_NAME, self._host_name),
            (("linux ",), _UNAME, self._host_name),
            (("@",), _PROMPT, self._prompt),
            ((), _HOST, self._host),
            ((), _IPV4, self._ipv4),
            ((), _IPV6, self._ipv6),
            ((), _MAC, lambda m: self._token("mac", m[0].lower(), "02:00:00:00:{0[0]:02x}:{0[1]:02x}")),
            (("/home/", "/users/"), _HOME, self._home),
            (("user", "owner", "logname"), _USER_NAME, self._user_name),
        )

    def _token(self, kind: str, value: str, shape: str) -> str:
        """The token of a value. Tokens that look alike are numbered together, so that two never stand for different values,
        and what is known under two kinds has one."""
        found = self._tokens.get((shape, value))
        if found is None:
            family = _FAMILY.split(shape)[0]
            self._numbers[family] += 1
            number = self._numbers[family]
            found = shape.format((number >> 8 & 255, number & 255) if "{0[" in shape else number)
            self._tokens[shape, value] = found
        self._known.setdefault(kind, {})[value] = found
        if kind == "account":
            self._words.learn(value, found)
        return found

    def _packed(self, match: re.Match[str]) -> str:
        """A long word in which a secret may be packed; what is packed twice is not looked for."""
        if self._inside:
            return match[0]
        inner = Redactor(secrets_only=True)
        inner._inside = True
        found = keys.packed_secret(match[0], inner.text)
        return self._token("secret", match[0], "REDACTED{:06d}") if found else match[0]

    def _secret_pair(self, match: re.Match[str]) -> str:
        name, middle = match["name"], match["middle"]
        value = match["value"].rstrip("\ufdd0")  # half of the escaped quote behind it
        rest = match["value"][len(value) :]
        if HARMLESS_NAME.search(name) or PLAIN.match(value) or value.startswith(("REDACTED", "user")):
            return match[0]
        # A bare number stays a number, or JSON would no longer be JSON.
        shape = "{:0" + str(len(value)) + "d}" if value.isdecimal() and value.isascii() else "REDACTED{:06d}"
        if value.isdecimal() and value[0] != "0":
            shape = "9" + "{:0" + str(len(value) - 1) + "d}"
        return name + middle + self._token("secret", value, shape) + rest

    def _email(self, match: re.Match[str]) -> str:
        login, _, host = match[0].rpartition("@")
        if login != "REDACTED":
            return self._token("email", match[0], "user{:d}@example.invalid")
        # The end of a URL's login: the host behind it is one as any other.
        return match[0] if self._secrets_only else f"{login}@{_HOST.sub(self._host, host)}"

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
        found = self._token("host", host, "host{:d}.example.invalid")
        label, _, domain = host.partition(".")
        if domain.endswith(_OWN_DOMAINS) and "-" in label and any(char.isdigit() for char in label):
            self._words.learn(label, found.partition(".")[0])
        return found

    def _host_name(self, match: re.Match[str]) -> str:
        if match[2].startswith(("ip-", "host")) or match[2] in ("localhost", "0.0.0.0"):
            return match[0]
        found = self._token("host", match[2].lower(), "host{:d}")
        if not match[1].lower().startswith("host="):
            self._words.learn(match[2], found)
        return match[1] + found

    def _prompt(self, match: re.Match[str]) -> str:
        """`jane@trn-node-07:~$` and `jane@trn-node-07:/path`"""
        user, host = match[1], match[2]
        if user not in _SYSTEM_USERS and not re.fullmatch(r"user\d+", user):
            user = self._user(user)
        if not re.fullmatch(r"ip-.*|host\d*|localhost", host):
            host = self._token("host", host.lower(), "host{:d}")
            self._words.learn(match[2], host)
        return f"{user}@{host}"

    def _user(self, name: str) -> str:
        found = self._token("user", name, "user{:d}")
        self._words.learn(name, found)
        return found

    def _user_name(self, match: re.Match[str]) -> str:
        if match[2] in _SYSTEM_USERS or re.fullmatch(r"user\d+|\d+", match[2]):
            return match[0]
        return match[1] + self._user(match[2])

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
        return match[1] + self._user(user)


_ESCAPES = (("\ufdd0", "\\\\"), ("\ufdd1", "\\n"), ("\ufdd2", "\\r"), ("\ufdd3", "\\t"), ("\ufdd4", '\\"'))
"""Escapes of JSON and of shells stand for one character while the patterns look: `\\nhf_...` is a token at the start of a line,
and `\\"` ends a value. The characters are ones that no text has (noncharacters of Unicode)."""
_COLOUR = lazy(r"(?:\x1b|\x9b|\\u001b|\\x1b|\\033|#033|\^\[)\[[0-?]{0,32}[ -/]{0,4}[@-~]")
"""Also as loggers write it out."""


def _escaped(text: str) -> str:
    if "\\" in text:
        for mark, written in _ESCAPES:
            text = text.replace(written, mark)
    return text


def _unescaped(text: str) -> str:
    for mark, written in _ESCAPES:
        text = text.replace(mark, written)
    return text


_FAMILY = re.compile(r"(?<=\})[.@:]")
"""Ends what two shapes have in common: `host{:d}` and `host{:d}.example.invalid`."""
_OWN_DOMAINS = ("internal", "local", "lan", "corp", "intra")
_UNAME = lazy(r"(?m)((?:^|\ufdd1)[^\n\ufdd1]{0,80}?\bLinux )([A-Za-z][A-Za-z0-9-]{1,62})(?= \d+\.\d+\.\d+\S{0,80} #\d)")
_PROMPT = lazy(
    r"(?<![\w.@/:-])([a-z_][a-z0-9_-]{1,31})@([A-Za-z][A-Za-z0-9-]{1,62})(?=:[~/]| [~\w./-]{1,100}\]?[$#])"
)  # fmt: skip
_OURS = ipaddress.IPv4Network("198.18.0.0/15")
_HOST_NAME = lazy(r"(?i)\b((?:hostname|nodename|host)\s{0,2}[=:]\s{0,4}[\"']?)([A-Za-z][A-Za-z0-9-]{1,62})\b(?![.\w(])")
_USER_NAME = lazy(r"\b((?:USER|LOGNAME|SUDO_USER|owner|User)=[\"']?)([A-Za-z_][A-Za-z0-9_.-]{1,31})\b")
_ACCOUNT = lazy(r"(?i)(account(?:[_ -]?id)?[\"'\ufdd4]?(?:\s{0,2}[=:]\s{0,4}|\s{1,4})[\"'\ufdd4]?)(\d{12})\b")
_ARN_ACCOUNT = lazy(r"\b(arn:aws[a-z-]*:[a-z0-9-]*:[a-z0-9-]*:)(\d{12})(:)")
_ECR_ACCOUNT = lazy(r"(?<!\d)(\d{12})(\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com)")
_AWS_ID = lazy(r"\b((?:i|vpc|subnet|sg|eni|vol|snap|ami|fs|eipalloc|rtb|igw|lt|asg|r)-)([0-9a-f]{17}|[0-9a-f]{8})\b")
_EMAIL = lazy(r"\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,4}\.[A-Za-z]{2,12}\b")
_IP_HOST = lazy(r"\b(ip-)(\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3})((?:\.[a-z0-9-]{1,63}){1,4})?")
_HOST = lazy(
    r"(?<![\w./@-])(?:[a-zA-Z0-9-]{1,63}\.){1,5}(?:internal|local|lan|corp|intra|com|net|org|io|dev|ai|cloud|cn|de|fr|uk|jp)\b"
    r"(?![\w(]|\.\w)"
)
_IPV4 = lazy(r"(?<![\w.+-])\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\w.+-])")
_IPV6 = lazy(
    r"(?<![\w:.])(?:(?:[0-9a-fA-F]{1,4}:){2,7}(?::?[0-9a-fA-F]{1,4}){1,7}"
    r"|[23fF][0-9a-fA-F]{3}::(?:[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4}){0,6})?)(?![\w:]|\.\w)"
)
"""With one group before `::` only where it is that of an address in use: `c10::d` is a name of C++."""
_MAC = lazy(r"(?<![\w:])(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}(?![\w:])")
_HOME = lazy(r"((?:/home|/Users|/fsx/home|/efs/home)/)([A-Za-z0-9._-]{1,64})")
