"""The kernel without memory: it kills the process that has most of it, and says so."""

from __future__ import annotations

from neuronwatch.drill.machine import Machine, Process


def tick(machine: Machine) -> None:
    """Kills until what is left fits."""
    while True:
        used = sum(process.rss for process in machine.processes.values()) + machine.host.base
        if used <= machine.host.memory:
            return
        _kill(machine, max(machine.processes.values(), key=lambda process: (process.rss, process.pid)))


def _kill(machine: Machine, victim: Process) -> None:
    kernel, size = machine.kernel, victim.rss // 1024
    kernel.say(
        f"{victim.name} invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE|__GFP_COMP|__GFP_ZERO), order=0, oom_score_adj=0"
    )
    kernel.say(f"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice/"
               f"user-{victim.uid}.slice/session-3.scope,task={victim.name},pid={victim.pid},uid={victim.uid}")  # fmt: skip
    kernel.say(f"Out of memory: Killed process {victim.pid} ({victim.name}) total-vm:{size * 3 // 2}kB, anon-rss:{size}kB, file-rss:0kB, "
               f"shmem-rss:0kB, UID:{victim.uid} pgtables:{size // 512}kB oom_score_adj:0")  # fmt: skip
    machine.end(victim, 137, torn_down=not victim.cores)
    kernel.say(f"oom_reaper: reaped process {victim.pid} ({victim.name}), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB")
