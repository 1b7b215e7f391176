# journalctl: what units wrote to the journal; follows with -f. Only the options that a monitor needs.
from __future__ import annotations

import fnmatch
import json
import sys
import time

from neuronwatch.drill.tools.shared import alive, put, read_file, read_state

JOURNAL = ".drill/journal"
VALUES = {"-u": "unit", "--unit": "unit", "-n": "lines", "--lines": "lines", "-o": "output", "--output": "output", "-t": "tag",
          "--identifier": "tag", "-S": "since", "--since": "since", "-p": "priority", "--priority": "priority",
          "-b": "boot", "--boot": "boot"}  # fmt: skip
PLAIN = {"-f": "follow", "--follow": "follow", "--no-pager": "", "-q": "quiet", "--quiet": "quiet", "--no-tail": "all", "-a": "",
         "--all": "", "--no-hostname": "nohost", "--utc": "", "-m": "", "--system": ""}  # fmt: skip
Entry = tuple[float, str, str, str, str]


class Options:
    def __init__(self, given: list[str]) -> None:
        self.units: list[str] = []
        self.tags: list[str] = []
        self.lines: int | None = None
        self.output = "short"
        self.flags: set[str] = set()
        rest = list(given)
        while rest:
            word = rest.pop(0)
            flag, _, value = word.partition("=")
            if flag in PLAIN:
                self.flags.add(PLAIN[flag])
            elif flag in VALUES or word[:2] in VALUES:
                name = VALUES.get(flag) or VALUES[word[:2]]
                self._take(name, value or (word[2:] if flag not in VALUES else rest.pop(0) if rest and name != "boot" else ""))
            else:
                sys.stderr.write(f"journalctl: unrecognized option '{word}'\n")
                sys.exit(1)

    def _take(self, name: str, value: str) -> None:
        if name == "unit":
            self.units.append(value if "." in value else value + ".service")
        elif name == "tag":
            self.tags.append(value)
        elif name == "lines":
            self.lines = None if value == "all" else int(value) if value.isdigit() else 10
        elif name == "output":
            self.output = value

    def wanted(self, entry: Entry) -> bool:
        by_unit = not self.units or any(fnmatch.fnmatch(entry[1], unit) for unit in self.units)
        return by_unit and (not self.tags or entry[2] in self.tags)


def entries(text: str) -> list[Entry]:
    """(time, unit, tag, pid, message) of whole lines."""
    found = []
    for line in text[: text.rfind("\n") + 1].splitlines():
        cells = line.split("\t", 4)
        if len(cells) == 5:
            found.append((float(cells[0]), *cells[1:]))
    return found  # type: ignore[return-value]


def shown(entry: Entry, options: Options, host: str) -> str:
    moment, unit, tag, pid, message = entry
    if options.output == "cat":
        return message + "\n"
    if options.output == "json":
        return json.dumps({"__REALTIME_TIMESTAMP": str(int(moment * 1e6)), "_HOSTNAME": host, "SYSLOG_IDENTIFIER": tag, "_PID": pid,
                           "_SYSTEMD_UNIT": unit, "MESSAGE": message, "PRIORITY": "6"}) + "\n"  # fmt: skip
    parts = time.gmtime(moment)
    stamp = time.strftime("%b %d %H:%M:%S", parts)
    if options.output in ("short-iso", "short-iso-precise"):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S+0000", parts)
    elif options.output == "short-precise":
        stamp += f".{int(moment % 1 * 1e6):06d}"
    return f"{stamp} {'' if 'nohost' in options.flags else host + ' '}{tag}[{pid}]: {message}\n"


def main() -> int:
    options = Options(sys.argv[1:])
    state = read_state()
    if state is None:
        sys.stderr.write("No journal files were found.\n")
        return 1
    host = str(state["instance"]["hostname"])
    text = read_file(JOURNAL)
    found = [entry for entry in entries(text) if options.wanted(entry)]
    if options.lines is None and "follow" in options.flags and "all" not in options.flags:
        options.lines = 10
    if options.lines is not None:
        found = found[len(found) - min(options.lines, len(found)) :]
    put("".join(shown(entry, options, host) for entry in found))
    if not found and "quiet" not in options.flags and "follow" not in options.flags:
        put("-- No entries --\n")
    done = text.rfind("\n") + 1
    while "follow" in options.flags:
        time.sleep(0.1)
        text = read_file(JOURNAL)
        done = 0 if len(text) < done else done
        put("".join(shown(entry, options, host) for entry in entries(text[done:]) if options.wanted(entry)))
        done = max(done, text.rfind("\n") + 1)
        if not alive(state):
            return 0
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
