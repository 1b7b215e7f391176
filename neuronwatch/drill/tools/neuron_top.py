# neuron-top: a full screen that is drawn anew each second. It needs a terminal.
from __future__ import annotations

import os
import select
import sys
import termios
import time
import tty
from typing import Any

from neuronwatch.drill.tools.shared import alive, die, garble, logical, numbers, outage, put, read_state, suffer

NAMES = {"Tensors": ("tensors",), "Constants": ("constants",), "Model Code": ("model_code",),
         "Runtime Memory": ("runtime_memory", "dma_rings", "notifications", "collectives", "driver_memory", "uncategorized"),
         "Model Scratchpad": ("model_shared_scratchpad", "nonshared_scratchpad")}  # fmt: skip
KEYS = ("q: quit", "arrows: move tree selection", "enter: expand/collapse tree item", "x: expand/collapse entire tree",
        "a/d: previous/next tab", "f: FLOPS on/off", "1-9: select tab")  # fmt: skip
GREEN, GREY, PLAIN = "\x1b[32m", "\x1b[90m", "\x1b[0m"


class View:
    """What the keys have chosen. `selected`: the line of the tree; `opened`: nodes that show their children."""

    def __init__(self) -> None:
        self.flops = False
        self.tab = 0
        self.selected = 0
        self.opened: set[tuple[int, ...]] = {(0,), (0, 0)}

    def key(self, data: bytes, tabs: int, nodes: list[tuple[int, ...]]) -> bool:
        """Takes the keys; False: quit."""
        moves = {b"\x1b[A": -1, b"\x1b[B": 1}
        if data in moves:
            self.selected = min(max(0, self.selected + moves[data]), max(0, len(nodes) - 1))
            return True
        for letter in data.decode("latin-1"):
            if letter in "q\x03":
                return False
            if letter in "fF":
                self.flops = not self.flops
            elif letter in "ad":
                self.tab = (self.tab + (1 if letter == "d" else -1)) % tabs
            elif letter in "123456789":
                self.tab = min(int(letter) - 1, tabs - 1)
            elif letter == "x":
                self.opened = set() if self.opened else set(nodes) | {(*node, 0) for node in nodes if len(node) == 1}
            elif letter in "\r\n" and nodes:
                self.opened ^= {nodes[min(self.selected, len(nodes) - 1)]}
        return True


def size(amount: float) -> str:
    for unit in ("B", "KB", "MB"):
        if amount < 1024:
            return f"{amount:.1f}{unit}"
        amount /= 1024
    return f"{amount:.1f}GB"


def percent(value: float) -> str:
    return "[  100%]" if value >= 99.995 else f"[{value:5.2f}%]"


def bar(width: int, share: float, label: str) -> str:
    """Every cell is `|`; only the colour tells used from unused."""
    cells = max(0, width - len(label))
    used = round(cells * min(1.0, max(0.0, share)))
    return f"{GREEN}{'|' * used}{GREY}{'|' * (cells - used)}{PLAIN}{label}"


def apps(state: dict[str, Any]) -> list[dict[str, Any]]:
    return [item for item in state["processes"] if item["runtime"] and item["cores"]]


def cores(state: dict[str, Any], device: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The physical cores of each logical core of the device."""
    lnc = logical(state)
    return [device["cores"][first : first + lnc] for first in range(0, len(device["cores"]), lnc)]


def title(state: dict[str, Any]) -> str:
    if numbers(state["tools"]) < (2, 7):
        return f"neuron-top {state['tools']}"
    return f"neuron-top {state['tools']} running on {state['instance']['id']} ({state['instance']['type']})"


def grid(state: dict[str, Any], view: View, width: int) -> list[str]:
    """Heading, column names and one row for each device."""
    rows, values = [], []
    flops = {core: item["flops"] for item in apps(state) for core in item["cores"]}
    number = 0
    for device in state["devices"]:
        row = []
        for parts in cores(state, device):
            mine = not view.tab or any(part["owner"] == apps(state)[view.tab - 1]["pid"] for part in parts)
            use = sum(part["util"] for part in parts) / len(parts) if mine else 0.0
            row.append((use, flops.get(number, 0) * use / 100 / 1e12))
            number += 1
        values += row
        rows.append((device["index"], row))
    many = max((len(row) for _, row in rows), default=1)
    cell = (width - 2 - 5 - (many - 1)) // many
    label = 13 if view.flops else 8
    lines = [heading(state, view, values)]
    lines.append(" " * 5 + " ".join(f"{'NC' + str(place):^{max(3, cell - label)}}" + " " * label for place in range(many)))
    for index, row in rows:
        bars = [bar(cell, use / 100, f"[{tera:9.3f}TF]" if view.flops else percent(use)) for use, tera in row]
        lines.append(f"{'ND' + str(index):<5}" + " ".join(bars))
    return lines


def heading(state: dict[str, Any], view: View, values: list[tuple[float, float]]) -> str:
    version = numbers(state["tools"])
    if version < (2, 7):
        return "NeuronCore Utilization"
    kind = state["chip"]["lnc_core"] if logical(state) > 1 and state["chip"]["lnc_core"] else state["chip"]["core"]
    name = f"NeuronCore {kind} Utilization"
    if version < (2, 8) or not values:
        return name
    if view.flops:
        total = sum(tera for _, tera in values)
        return f"{name} (Avg: {total / len(values):9.3f}TF | Total: {total:8.3f}TF)"
    return f"{name} (Avg: {sum(use for use, _ in values) / len(values):.2f}%)"


def processors(state: dict[str, Any], width: int) -> list[str]:
    host = state["host"]
    busy = sum(item["cpu"] for item in apps(state)) / host["cpus"]
    rows = []
    for name, user, system in (("System", host["user"], host["system"]), ("Runtime", busy * 0.94, busy * 0.06)):
        label = f"[{user:5.2f}%,{system:5.2f}%]"
        rows.append(f"{name + ' vCPU Usage':<19}" + bar(width - 2 - 19, (user + system) / 100, label))
    return ["vCPU Utilization" if numbers(state["tools"]) >= (2, 5) else "vCPU and Memory Info", *rows]


def used(parts: list[dict[str, Any]], keys: tuple[str, ...]) -> int:
    return sum(part["memory"].get(key, 0) for part in parts for key in keys)


def summary(state: dict[str, Any], width: int) -> list[str]:
    every = [part for device in state["devices"] for part in device["cores"]]
    host = sum(item["rss"] // 3 for item in apps(state))
    column = max(12, (width - 22) // 6 - 1)
    sums = {name: used(every, keys) for name, keys in NAMES.items()}
    first = [("Total", host), ("Tensors", 0), ("Constants", 0), ("DMA Buffers", 8388608 * len(apps(state))), ("App. Memory", host)]
    second = [("Total", sum(sums.values())), *sums.items()]
    lines = ["Memory Usage Summary"]
    for label, cells in (("Host Used Memory", first), ("Device Used Memory", second)):
        lines.append(f"{label:<22}" + "".join(f"{name + ': ' + size(value):<{column}}" for name, value in cells).rstrip())
    return lines


def tree(state: dict[str, Any], view: View) -> tuple[list[tuple[int, ...]], list[tuple[str, str, str, str]]]:
    """The nodes that can be opened, and the rows (name, model id, device memory, host memory) that are shown."""
    nodes: list[tuple[int, ...]] = []
    rows: list[tuple[str, str, str, str]] = []
    models = {core: item["models"] for item in apps(state) for core in item["cores"]}
    number = 0
    for place, device in enumerate(state["devices"]):
        logicals = cores(state, device)
        if not any(part["memory"] for part in device["cores"]):
            number += len(logicals)
            continue
        nodes.append((place,))
        opened = (place,) in view.opened
        rows.append((f" [{'-' if opened else '+'}] ND{device['index']:2d}", "", size(sum(sum(p["memory"].values()) for p in device["cores"])),
                     size(20480 * len(device["cores"]))))  # fmt: skip
        for index, parts in enumerate(logicals):
            if opened:
                nodes.append((place, index))
                inner = (place, index) in view.opened
                rows.append(
                    (
                        f"     [{'-' if inner else '+'}] NC{index:2d}",
                        "",
                        size(sum(sum(p["memory"].values()) for p in parts)),
                        size(20480),
                    )
                )
                rows += leaves(parts, models.get(number, [])) if inner else []
            number += 1
    return nodes, rows


def leaves(parts: list[dict[str, Any]], models: list[list[Any]]) -> list[tuple[str, str, str, str]]:
    rows = [(f"         [+] {name[:80]}", str(number), size(20001024), size(20480)) for name, number in models]
    return rows + [(f"         {name}", "", size(used(parts, keys)), "0.0B") for name, keys in NAMES.items() if used(parts, keys)]


def old_screen(state: dict[str, Any], height: int) -> list[str]:
    """The screen of the 1.x line, which is plain text."""
    busy = [part for device in state["devices"] for part in device["cores"] if part["memory"]]
    lines = [f"neuron-top - {time.strftime('%H:%M:%S', time.gmtime(state['time']))}",
             f"Models: {len(busy)} loaded, {len(busy)} running. NeuronCores: {len(busy)} used."]  # fmt: skip
    for device in state["devices"]:
        lines.append(f"{device['bdf']} Utilizations: " + "".join(
            f"NC{index} {part['util']:.2f}%, " for index, part in enumerate(device["cores"])).rstrip())  # fmt: skip
    lines.append("Model ID Device NeuronCore% Device Mem Host Mem Model Name")
    number = 10080
    for device in state["devices"]:
        for index, part in enumerate(device["cores"]):
            if part["memory"]:
                memory = sum(part["memory"].values()) >> 20
                lines.append(
                    f"{number} nd{device['index']}:nc{index} {part['util']:.2f} {memory} MB 5 MB -/home/ubuntu/serve/bert_compile/12"
                )
                number += 1
    return lines[:height]


def screen(state: dict[str, Any], view: View, width: int, height: int) -> list[str]:
    """All lines of the screen, at most `height`."""
    if numbers(state["tools"]) < (2,):
        return old_screen(state, height)
    at = [round(width * share) for share in (106 / 190, 132 / 190, 159 / 190)]
    lines = [" " * max(0, (width - len(title(state))) // 2) + title(state), "", *grid(state, view, width), "",
             *processors(state, width), "", *summary(state, width), "", "Memory Usage Details"]  # fmt: skip
    lines.append(f"{'':<{at[0]}}{'Model ID':<{at[1] - at[0]}}{'Device Memory':<{at[2] - at[1]}}Host Memory"[:width])
    room = height - len(lines) - 2
    _, rows = tree(state, view)
    shown = [f"{a:<{at[0]}.{at[0] - 1}}{b:<{at[1] - at[0]}}{c:<{at[2] - at[1]}}{d}"[:width] for a, b, c, d in rows[: max(0, room)]]
    lines += shown + [""] * max(0, room - len(shown))
    tags = ["all", *(item["tag"] for item in apps(state))]
    tabs = [f">[{place + 1}]:{tag}<" if place == view.tab else f"[{place + 1}]:{tag}" for place, tag in enumerate(tags)]
    lines = lines[: height - 2]
    lines.append(("Neuron Apps".ljust(32) + "".join(f"{tab:<32}" for tab in tabs))[:width].rstrip())
    cell = max(8, width // 7)
    lines.append(" ".join(f"{key[:cell]:^{cell}}" for key in KEYS)[:width])
    return lines


def draw(state: dict[str, Any], view: View) -> None:
    try:
        width, height = os.get_terminal_size(1)
    except OSError:
        width, height = 80, 24
    lines = screen(state, view, max(60, width), max(10, height))
    text = "\x1b[H" + "\r\n".join(line.rstrip() + "\x1b[K" for line in lines) + "\x1b[J"
    put(garble(text) if outage(state, "neuron-top") == "garbled" else text)


def main() -> int:
    if sys.argv[1:]:
        sys.stderr.write(f"neuron-top: unknown argument {sys.argv[1]}\n")
        return 1
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        sys.stderr.write("Error opening terminal: unknown.\n")
        return 1
    state = suffer("neuron-top")
    if state is None or not state["devices"]:
        sys.stderr.write("neuron-top: no Neuron device found\n")
        return 1
    before = termios.tcgetattr(0)
    tty.setcbreak(0)
    put("\x1b[?1049h\x1b[?25l\x1b[2J")
    try:
        return watch(state)
    finally:
        put("\x1b[?25h\x1b[?1049l")
        termios.tcsetattr(0, termios.TCSADRAIN, before)


def watch(state: dict[str, Any]) -> int:
    view, due = View(), 0.0
    while True:
        if time.monotonic() >= due:
            state = read_state() or state
            how = outage(state, "neuron-top")
            if not alive(state) or how in ("absent", "denied"):
                return 1
            if how == "killed":
                die()
            if how == "slow":
                time.sleep(45.0 / state["rate"])
            if how != "hung":
                draw(state, view)
            due = time.monotonic() + max(0.25, 1.0 / state["rate"])
        ready, _, _ = select.select([0], [], [], max(0.0, due - time.monotonic()))
        if ready:
            data = os.read(0, 64)
            if not data or not view.key(data, 1 + len(apps(state)), tree(state, view)[0]):
                return 0
            due = 0.0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
