"""All live sources of a host. A source more: a line here."""

from __future__ import annotations

from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live import ways
from neuronwatch.source.live.api import Source
from neuronwatch.source.live.compile_cache import CompileCache
from neuronwatch.source.live.holders import Holders
from neuronwatch.source.live.host_metrics import HostMetrics
from neuronwatch.source.live.layout import Layout
from neuronwatch.source.live.neuron_ls import NeuronLs
from neuronwatch.source.live.neuron_monitor import NeuronMonitor
from neuronwatch.source.live.neuron_top import NeuronTop
from neuronwatch.source.live.processes import Processes
from neuronwatch.source.live.signal_pipe import SignalPipe
from neuronwatch.source.live.sysfs import Sysfs

NAMES = ("sysfs", "neuron-monitor", "neuron-top", "neuron-ls", "processes", "host", "compile-cache", "system", "driver", "packages")
"""The names of all of them."""


def host_sources(root: HostRoot, holders: Holders | None = None) -> list[Source]:
    """The sources that tell the state of the host and its devices, without logs. Nothing is opened before their first poll."""
    layout, holders = Layout(), holders or Holders()
    again, driver_again, packages_again = SignalPipe(), SignalPipe(), SignalPipe()
    waiting = root.waiting()  # for sources with a thread of their own
    return [
        Sysfs(waiting, layout, driver_again),
        NeuronMonitor(root, layout),
        NeuronTop(root),
        NeuronLs(waiting, layout, holders, driver_again),
        Processes(waiting, holders),
        HostMetrics(waiting, again),
        CompileCache(waiting),
        ways.system(waiting, again),
        ways.driver(waiting, driver_again, packages_again),
        ways.installed(waiting, packages_again),
    ]
