"""The systemd unit: an unprivileged user, a sandbox, and no more rights than the sources need."""

from __future__ import annotations

from collections.abc import Sequence

USER = "neuronwatch"
SYSUSERS = f"""# The user of neuronwatch.service
u {USER} - "neuronwatch daemon" /var/lib/neuronwatch
"""
GROUPS = ("systemd-journal", "adm")
"""The journal, and logs in /var/log."""
WATCHDOG = 120


def unit(
    command: Sequence[str], processes: bool = False, homes: bool = False, groups: Sequence[str] = GROUPS, state: str = ""
) -> str:
    """The unit file. `processes`: may see environment and open files of other users' processes (CAP_SYS_PTRACE). `homes`: may
    read logs that only their owner may read (CAP_DAC_READ_SEARCH). `state`: an absolute state directory in place of
    /var/lib/neuronwatch; it is made for the daemon's user before the start."""
    capabilities = ["CAP_SYSLOG", *(["CAP_SYS_PTRACE"] if processes else []), *(["CAP_DAC_READ_SEARCH"] if homes else [])]
    return _TEMPLATE.format(
        command=" ".join(map(_quoted, command)), user=USER, groups=" ".join(groups), watchdog=WATCHDOG,
        capabilities=" ".join(capabilities), state=_STATE if not state else _other(state),
    )  # fmt: skip


def _quoted(word: str) -> str:
    """An argument as systemd reads it: quoted, `%` and `$` doubled. Raises ValueError for what no unit can hold."""
    if any(not char.isprintable() for char in word):
        raise ValueError(f"{word!r} cannot stand in a unit file")
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{word}"' if not word or any(char in word for char in " '\"\\;") else word


def _other(state: str) -> str:
    place = _quoted(state).replace("$$", "$")  # `$` means something in commands alone
    return _OTHER.format(command=_quoted(state), place=place, user=USER)


_STATE = """StateDirectory=neuronwatch
StateDirectoryMode=0700"""
_OTHER = """# The one that was named: made by root (`+`) where it is not there, and the only further place that may be written.
ExecStartPre=+/usr/bin/install -d -m 0700 -o {user} -g {user} {command}
ReadWritePaths={place}"""

_TEMPLATE = """\
[Unit]
Description=neuronwatch, watches the Neuron devices and jobs of this host
After=local-fs.target
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
Restart=always
RestartSec=5
WatchdogSec={watchdog}
# Graceful: what is known is written down before the restart.
WatchdogSignal=SIGTERM
TimeoutStartSec=120
TimeoutStopSec=20

# A user of its own (DynamicUser would hide /tmp and /var/tmp, where compile caches and logs are).
User={user}
Group={user}
SupplementaryGroups={groups}
{state}
CacheDirectory=neuronwatch
CacheDirectoryMode=0700
Environment=XDG_CACHE_HOME=/var/cache MALLOC_ARENA_MAX=2 PYTHONDONTWRITEBYTECODE=1
UMask=0077

# The kernel log needs CAP_SYSLOG. `neuronwatch service print --processes` and `--homes` add what they need.
CapabilityBoundingSet={capabilities}
AmbientCapabilities={capabilities}
NoNewPrivileges=yes

# It reads; it writes its state and cache directories only.
ProtectSystem=strict
ProtectHome=read-only
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
# Not set: ProtectKernelLogs, ProtectProc, PrivateTmp, PrivateUsers. They would hide what is to be watched.
DevicePolicy=closed
DeviceAllow=char-neuron rw
DeviceAllow=/dev/kmsg r
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RemoveIPC=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
# Metrics on loopback and alerts to this machine need no more; for a webhook elsewhere add its address.
IPAddressDeny=any
IPAddressAllow=localhost

MemoryMax=256M
TasksMax=128
OOMScoreAdjust=-500
Nice=5

[Install]
WantedBy=multi-user.target
"""
