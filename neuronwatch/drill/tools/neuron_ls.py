# neuron-ls: devices and who uses them, as a table or as JSON, in the layout of the tools' version.
from __future__ import annotations

import json
import os
import sys
from typing import Any

from neuronwatch.drill.tools.shared import NO_DRIVER, garble, logical, numbers, outage, put, suffer, unknown_flag

FLAGS = {"-w": "wide", "--wide": "wide", "-a": "all", "--show-all-procs": "all", "-t": "topology", "--topology": "topology",
         "-j": "json", "--json-output": "json", "-h": "help", "--help": "help"}  # fmt: skip
HELP = """Usage:
  neuron-ls [OPTIONS]

Application Options:
  -w, --wide            Display wide output
  -a, --show-all-procs  Show all processes using the Neuron Devices, including processes that aren't using Neuron Runtime 2.x
  -t, --topology        Display the topology of the Neuron Devices
  -j, --json-output     Output in JSON format

Help Options:
  -h, --help            Show this help message

"""
BANNER = """Neuron Tools have changed with Neuron v1.16.0. Go here to learn more:
https://awsdocs-neuron.readthedocs-hosted.com/en/latest/neuron-guide/neuron-tools/

If you're still running Neuron Runtime 1.0, run this program as sudo to display neuron-rtd runtime information

"""


def flags(arguments: list[str]) -> set[str]:
    found = set()
    for argument in arguments:
        single = argument[:1] == "-" and argument[1:2] not in ("-", "")
        for flag in ["-" + letter for letter in argument[1:]] if single else [argument]:
            if flag not in FLAGS:
                unknown_flag(flag)
            found.add(FLAGS[flag])
    return found


def cut(command: str, width: int) -> str:
    return command if len(command) <= width else command[: width - 3] + "..."


def processes(state: dict[str, Any], device: int, everybody: bool) -> list[dict[str, Any]]:
    """Who holds the device. Processes without libnrt are shown with -a; the program itself is one of them."""
    found = [item for item in state["processes"] if device in item["devices"] and (everybody or item["runtime"])]
    if everybody:
        found.append({"pid": os.getpid(), "command": "neuron-ls " + " ".join(sys.argv[1:]), "runtime": ""})
    return sorted(found, key=lambda item: int(item["pid"]))


def three(version: str) -> str:
    return ".".join(version.split(".")[:3]) if version else "NA"


def as_json(state: dict[str, Any], everybody: bool) -> str:
    version, lnc = numbers(state["tools"]), logical(state)
    rows = []
    for device in state["devices"]:
        count = state["physical"] // lnc
        row: dict[str, Any] = {}
        if version >= (2, 31):
            row.update(instance_type=state["instance"]["type"], instance_id=state["instance"]["id"])
        row.update(neuron_device=device["index"], bdf=device["bdf"] if version >= (2, 28) else device["bdf"][5:])
        if version >= (2, 25):
            row.update(cpu_affinity=device["affinity"], numa_node=str(device["numa"]))
        row.update(connected_to=device["connected"] or None, nc_count=count)
        if state["instance"]["generation"] >= 3:
            row.update(logical_neuroncore_config=lnc)
        row.update(memory_size=state["memory"])
        if version >= (2, 25):
            row.update(neuroncore_ids=list(range(device["index"] * count, (device["index"] + 1) * count)))
        row.update(neuron_processes=[
            {"pid": item["pid"], "command": cut(item["command"], 40), "neuron_runtime_version": three(item["runtime"])}
            for item in processes(state, device["index"], everybody)])  # fmt: skip
        rows.append(row)
    return json.dumps(rows, indent=4, ensure_ascii=False)


def layout(state: dict[str, Any]) -> str:
    version = numbers(state["tools"])
    if version >= (2, 25):
        return "L6"
    if version < (2,):
        return "L1"
    if version >= (2, 5):
        return "L5" if state["instance"]["generation"] >= 3 else "L3"
    return "L2"


def columns(state: dict[str, Any], device: dict[str, Any]) -> dict[tuple[str, str], str]:
    """Header (two lines) to cell, of one device."""
    lnc, kind = logical(state), layout(state)
    count = state["physical"] // lnc
    first = device["index"] * count
    cells = {("NEURON", "DEVICE"): str(device["index"]), ("NEURON", "CORES"): str(count)}
    if kind == "L6":
        cells["NEURON", "CORE IDS"] = f"{first}-{first + count - 1}"
    cells["NEURON", "MEMORY"] = f"{state['memory'] >> 30} GB"
    cells["CONNECTED", "DEVICES"] = ", ".join(map(str, device["connected"]))
    full = (
        kind == "L6"
        or (numbers(state["tools"]) >= (2, 23) and kind == "L3")
        or (state["instance"]["generation"] == 1 and kind in ("L1", "L2"))
    )
    cells["PCI", "BDF"] = device["bdf"] if full else device["bdf"][5:]
    return cells


def table(state: dict[str, Any], wide: bool, everybody: bool) -> str:
    rows: list[dict[tuple[str, str], str]] = []
    starts, several = [], False
    if layout(state) == "L1":
        return draw([old_row(state, device) for device in state["devices"]], [])
    for device in state["devices"]:
        users = processes(state, device["index"], everybody)
        several = several or len(users) > 1
        place = {("CPU", "AFFINITY"): device["affinity"], ("NUMA", "NODE"): str(device["numa"])} if layout(state) == "L6" else {}
        starts.append(len(rows))
        for number, item in enumerate(users or [{"pid": "NA", "command": "NA", "runtime": ""}]):
            row = columns(state, device) if number == 0 else {}
            row["PID", ""] = str(item["pid"])
            row.update(place if number == 0 else {})
            row["COMMAND", ""] = cut(str(item["command"]), 80 if wide else 40)
            row["RUNTIME", "VERSION"] = three(str(item["runtime"]))
            rows.append(row)
    return draw(rows, starts if several else [])


def old_row(state: dict[str, Any], device: dict[str, Any]) -> dict[tuple[str, str], str]:
    """A row of the tools of the 1.x line: the daemon's address beside its pid."""
    row = columns(state, device)
    for item in processes(state, device["index"], False)[:1]:
        row["RUNTIME", "ADDRESS"], row["RUNTIME", "PID"] = item["tag"], str(item["pid"])
        row["RUNTIME", "VERSION"] = item["runtime"]
    return row


def draw(rows: list[dict[tuple[str, str], str]], rules: list[int]) -> str:
    """The rows with their headers; columns without any data are left out. `rules`: rows with a line in front."""
    heads = list(dict.fromkeys(key for row in rows for key in row))
    if ("PID", "") in heads and all(row.get(("PID", ""), "NA") == "NA" for row in rows):
        heads = [head for head in heads if head not in (("PID", ""), ("COMMAND", ""), ("RUNTIME", "VERSION"))]
    heads = [head for head in heads if any(row.get(head) for row in rows)]
    widths = [max(len(head[0]), len(head[1]), *(len(row.get(head, "")) for row in rows)) for head in heads]
    line = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    out = [line]
    for part in (0, 1):
        out.append("|" + "|".join(middle(head[part], width + 2) for head, width in zip(heads, widths)) + "|")  # noqa: B905
    out.append(line)
    for number, row in enumerate(rows):
        if number and number in rules:
            out.append(line)
        out.append("|" + "|".join(f" {row.get(head, ''):<{width}} " for head, width in zip(heads, widths)) + "|")  # noqa: B905
    return "\n".join([*out, line]) + "\n"


def middle(text: str, width: int) -> str:
    left = (width - len(text)) // 2
    return " " * left + text + " " * (width - len(text) - left)


def topology(state: dict[str, Any]) -> str:
    devices = state["devices"]
    if len(devices) == 16 and state["instance"]["generation"] >= 2:
        up, bar, down, star = ("      " + "        ".join(sign * 4) + "      \n" for sign in "▲│▼*")
        rows = []
        for row in (0, 4, 8, 12):
            boxes = (f"[{number:<3}]" if number > 9 else f"[ {number} ]" for number in range(row, row + 4))
            rows.append("*––►" + "◄––►".join(boxes) + "◄––*\n")
        art = star + bar + down + (up + bar + down).join(rows) + up + bar + star
    else:
        art = "◄––►".join(f"[ {item['index']} ]" for item in devices) + "\n"
    legend = "\nLegend:\n\n        *––► = Wrap-around link\n" if numbers(state["tools"]) >= (2, 14, 6) else ""
    gap = "\n\n" if legend else ""
    return f"{gap}Neuron Device Topology\n{art}{legend}"


def main() -> int:
    wanted = flags(sys.argv[1:])
    if "help" in wanted:
        put(HELP)
        return 0
    state = suffer("neuron-ls")
    if state is None or not state["devices"] or not any(device["open"] or os.geteuid() == 0 for device in state["devices"]):
        sys.stderr.write(NO_DRIVER + "\n")
        return 1
    if "json" in wanted and numbers(state["tools"]) < (2,):
        unknown_flag("-j")
    if "json" in wanted:
        text = as_json(state, "all" in wanted)
    else:
        kind = layout(state)
        text = BANNER if (2, 0, 277) <= numbers(state["tools"])[:3] <= (2, 0, 494) else ""
        if kind not in ("L1", "L2"):
            text += f"instance-type: {state['instance']['type']}\ninstance-id: {state['instance']['id']}\n"
        if state["instance"]["generation"] >= 3 and kind not in ("L1", "L2"):
            text += f"logical-neuroncore-config: {logical(state)}\n"
        text += table(state, "wide" in wanted, "all" in wanted)
        text += topology(state) if "topology" in wanted else ""
    put(garble(text) if outage(state, "neuron-ls") == "garbled" else text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
