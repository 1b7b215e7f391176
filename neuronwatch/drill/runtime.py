"""What libnrt does inside a process: initialise, load, execute; which errors a state of driver or device gives, what it logs, counts
and says to the kernel. Faults change the state; the consequences are here."""

from __future__ import annotations

from dataclasses import dataclass

from neuronwatch.drill import runtime_load, spec
from neuronwatch.drill.clock import iso_stamp, nrt_stamp
from neuronwatch.drill.machine import Core, Device, Machine, Process

MIB = 1024 * 1024


@dataclass(frozen=True)
class Outcome:
    """How an execution ended. `status`: NRT_STATUS; `counter`: the driver's counter; `tally`: the entry of neuron-monitor's
    execution_summary; `error`: the entry of its error_summary, "" for none."""

    status: int
    name: str
    counter: str
    tally: str
    error: str = ""
    message: str = ""


OK = Outcome(0, "NRT_SUCCESS", "success", "completed")
HBM = Outcome(1201, "NRT_EXEC_HW_ERR_HBM_UE", "hw_hbm_ue_error", "completed_with_err", "hardware", "Uncorrectable HBM error")
NC = Outcome(1202, "NRT_EXEC_HW_ERR_NC_UE", "hw_nc_ue_error", "completed_with_err", "hardware", "Uncorrectable NC memory error")
DMA = Outcome(1203, "NRT_EXEC_HW_ERR_DMA_ABORT", "hw_dma_abort_error", "completed_with_err", "hardware", "DMA abort")
HBM_REPAIRABLE = Outcome(
    1205, "NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE", "hw_repairable_hbm_ue_error", "completed_with_err", "hardware", "Repairable HBM error")  # fmt: skip
TIMEOUT = Outcome(5, "NRT_TIMEOUT", "timeout", "timed_out", "", "Execution timeout")
NUMERICAL = Outcome(
    1003, "NRT_EXEC_COMPLETED_WITH_NUM_ERR", "execute_completed_with_num_error", "completed_with_num_err", "numerical", "Numerical error")  # fmt: skip
OUT_OF_BOUND = Outcome(1006, "NRT_EXEC_OOB", "oob_error", "completed_with_err", "model", "Out of bounds access")
NQ_OVERFLOW = Outcome(
    1204, "NRT_EXEC_SW_NQ_OVERFLOW", "execute_sw_nq_overflow", "completed_with_err", "runtime", "Notification queue overflow")  # fmt: skip
COLLECTIVES = Outcome(
    1200, "NRT_EXEC_HW_ERR_COLLECTIVES", "hw_collectives_error", "timed_out", "runtime", "Collectives stuck")  # fmt: skip


def log(machine: Machine, process: Process, level: str, component: str, function: str, message: str, thread: int = 0) -> None:
    """A line of libnrt on the stderr of the process. Below the level that its environment asks for, nothing."""
    wanted = process.environ.get("NEURON_RT_LOG_LEVEL", "ERROR")
    levels = ("ERROR", "WARN", "INFO", "DEBUG", "TRACE")
    if levels.index(level) > levels.index("WARN" if wanted == "WARNING" else wanted):
        return
    digits = 6 if spec.at_least(machine.software.runtime, "2.19") else 4
    machine.logs.line(process.log, f"{nrt_stamp(moment(machine), digits)} {process.pid:5d}:{thread or process.pid:<5d} "
                                   f"{level:>5} {component:>5}:{function:<40}{message}")  # fmt: skip


def moment(machine: Machine) -> float:
    """A time a little after the tick's, growing from line to line."""
    machine.lines_of_tick += 1
    return machine.now + 0.000_113 * machine.lines_of_tick


def init(machine: Machine, process: Process) -> bool:
    """nrt_init: reads the driver, opens the devices, takes the cores. False: it said why on stderr."""
    from neuronwatch.drill import runtime_init

    if runtime_init.init(machine, process):
        return True
    process.trouble = "init"
    return False


def load(machine: Machine, process: Process, logical: int, neff: str, sizes: dict[str, int]) -> bool:
    """Loads a NEFF and allocates memory, by category, on a logical core. False: it said why on stderr."""
    cores = machine.physical(logical)
    refusal = runtime_load.refusal(machine, process, neff)
    if refusal is not None:
        process.trouble = refusal.words
        for text in refusal.lines:
            log(machine, process, "ERROR", *text)
        return False
    for name, size in sizes.items():
        if not allocate(machine, process, logical, name, size):
            return False
    for core in cores:
        core.host_memory.set(20 * 1024)
    if all(known != neff for known, _ in process.models):
        process.models.append((neff, 1001 + len(process.models)))
    machine.count(process, logical, "model_load_count")
    return True


def allocate(machine: Machine, process: Process, logical: int, category: str, size: int) -> bool:
    """The category holds `size` bytes on the logical core from now on. False: the memory is full, and libnrt says how it is used."""
    cores = machine.physical(logical)
    limit = machine.kind.core_memory(machine.lnc)
    used = sum(core.used - core.memory[category].used for core in cores)
    if used + size > limit:
        from neuronwatch.drill import runtime_memory

        process.trouble = 'nrt_tensor_allocate status=4 message="Allocation Failure"'
        runtime_memory.full(machine, process, logical, category, size - sum(core.memory[category].used for core in cores))
        return False
    for core in cores:
        core.memory[category].set(size // len(cores))
    return True


def execute(machine: Machine, process: Process, logical: int, count: int, seconds: float, flops: int = 0,
            meets: Outcome | None = None) -> Outcome:  # fmt: skip
    """`count` executions on a logical core, together `seconds` of device time. `meets`: what is wrong with the graph or its input.
    Gives the first that failed, else OK."""
    device = machine.device_of(logical)
    failed = defect(device, machine.physical(logical)) or _own_fault(process, seconds / max(1, count), meets)
    good = count if failed is None else max(0, count // 3)
    if good:
        tally(process, "completed", good)
        process.latency = seconds / count
        process.flops = flops
        machine.count(process, logical, "success", good)
        machine.count(process, logical, "inference_count", good)
        machine.count(process, logical, "flop_count", int(flops * seconds) // machine.lnc)
        machine.count(process, logical, "nc_time_in_use", int(seconds * 1e6))
    return OK if failed is None else fail(machine, process, logical, failed)


def timeout(process: Process) -> float:
    """Seconds after which the runtime gives an execution up."""
    return float(process.environ.get("NEURON_RT_EXEC_TIMEOUT", "30"))


NOTIFICATIONS = 150
"""Executions after which the queue of DGE notifications, which nobody reads outside of a profile, is full."""


def _own_fault(process: Process, seconds: float, meets: Outcome | None) -> Outcome | None:
    """What goes wrong on a device that is well: the graph, its input, a setting."""
    if meets is NUMERICAL and not ({"NEURON_FAIL_ON_NAN", "NEURON_RT_NUMERICAL_ERRORS_VERBOSITY"} & set(process.environ)):
        return None  # since runtime 2.27 nobody hears of it who did not ask
    if meets is not None:
        return meets
    if seconds > timeout(process):
        return TIMEOUT
    profiled = process.environ.get("NEURON_RT_ENABLE_DGE_NOTIFICATIONS") == "1"
    return NQ_OVERFLOW if profiled and process.tallies.get("completed", 0) > NOTIFICATIONS else None


def tally(process: Process, name: str, amount: int = 1) -> None:
    process.tallies[name] = process.tallies.get(name, 0) + amount


def defect(device: Device, cores: list[Core]) -> Outcome | None:
    """Which error an execution on these cores meets now."""
    if not device.present:
        return TIMEOUT
    if device.sram_defect:
        return NC
    if device.hbm_defect:
        return HBM_REPAIRABLE if device.hbm_defect == "repairable" else HBM
    if any(core.dma_abort for core in cores):
        return DMA
    return None


def fail(machine: Machine, process: Process, logical: int, outcome: Outcome) -> Outcome:
    """An execution failed with `outcome`: counted, logged and, for hardware, told to the kernel."""
    tally(process, outcome.tally)
    if outcome.error:
        tally(process, outcome.error)
    machine.count(process, logical, outcome.counter)
    for text in words(machine, process, logical, outcome):
        log(machine, process, "ERROR", "TDRV", *text, thread=process.pid + 173)
    log(machine, process, "ERROR", "NMGR", "dlr_infer",
        f"Inference completed with err: {outcome.status}. mode->h_nn=1001, lnc={logical}", process.pid + 173)  # fmt: skip
    if outcome in KERNEL_WORDS and spec.at_least(machine.software.loaded, "2.15.9"):
        tell_kernel(machine, logical, KERNEL_WORDS[outcome])
    return outcome


KERNEL_WORDS = {NC: "SRAM_UNCORRECTABLE_ERROR", HBM: "HBM_UNCORRECTABLE_ERROR", DMA: "DMA_ERROR"}


def tell_kernel(machine: Machine, logical: int, what: str) -> None:
    """The runtime's own line in the kernel log, by the driver's printk call."""
    device, core = machine.place(logical)
    machine.kernel.say(
        f"{iso_stamp(machine.now)} NEURON_HW_ERR={what} instance-id={machine.identity.instance_id} "
        f"hostname={machine.identity.hostname} nd-id={device} nc-id={core} serial-num={machine.devices[device].serial} "
        "action=TERMINATE_INSTANCE")  # fmt: skip


def words(machine: Machine, process: Process, logical: int, outcome: Outcome) -> list[tuple[str, str]]:
    """(function, message) of the lines that libnrt writes about a failed execution."""
    device, core = machine.place(logical)
    old = not spec.at_least(machine.software.runtime, "2.23")
    if outcome is NC and old:
        return [("exec_consume_error_notifications", f"Uncorrectable memory error is detected on Neuron device: {device}:{core} "
                 "metadata: 0x2. Failing execution.")]  # fmt: skip
    if outcome is NC:
        return [("exec_consume_error_notifications", f"(FATAL-RT-UNDEFINED-STATE) [ND {device}][NC {core}] Uncorrectable memory error is "
                 "detected, metadata: 0x16. Please terminate or stop/start this instance to prevent future impact from the hardware "
                 "error.")]  # fmt: skip
    if outcome in (HBM, HBM_REPAIRABLE):
        action = "terminate this instance" if outcome is HBM else "reload the neuron driver or reboot your EC2 instance"
        return [("exec_check_hbm_ue", "(FATAL-RT-UNDEFINED-STATE) Uncorrectable HBM memory error is detected. Execution results may be "
                 f"invalid. Please {action} to prevent future impact from the hardware error.")]  # fmt: skip
    if outcome is DMA:
        return [
            ("dma_check_queue_state", f"[MLA {device}][NC {core}] DMA {way} engine 5 is in an abort state") for way in ("TX", "RX")
        ]
    neff = process.models[-1][0] if process.models else "model.neff"
    limit = f"{timeout(process) * 1000:.0f} ms"
    if outcome is TIMEOUT:
        return [*(("exec_consume_tpb_status_notifications", f"Missing infer_status notification: (end:{end})") for end in (1, 2, 3, 4, 0)),
                ("exec_consume_infer_status_notifications", f"(FATAL-RT-UNDEFINED-STATE) execution timeout ({limit}) on Neuron Device "
                 f"{device} NC {core}, model {neff}, waiting for execution completion notification")]  # fmt: skip
    if outcome is NQ_OVERFLOW:
        return [("exec_consume_topsp_cc_notifications", f"[ND {device}][NC {core}] execution on model {neff}, is stuck after all collectives "
                 "operation have completed"),
                ("exec_request_process_errors", f"[ND {device}][NC {core}] execution timeout ({limit}) on model {neff}, potentially caused by "
                 "DGE notifications enabled. Please disable it (set NEURON_RT_ENABLE_DGE_NOTIFICATIONS to 0) and try again.")]  # fmt: skip
    if outcome is OUT_OF_BOUND:
        return [("generate_custom_notification_msg", f"nd{device}:nc{core}:h_model.id1001: Received notification generated at runtime: failed "
                 "to run scatter/gather (indirect memory copy), due to out-of-bound access. isa instruction line number = 11. model name = "
                 f"{neff}")]  # fmt: skip
    if outcome is NUMERICAL:
        return [("notification_consume_error_block", f"Error notifications found on nd{device} nc{core}; "
                 "action=INFER_ERROR_SUBTYPE_NUMERICAL; error_id=0; error string:TRAINIUM_NC_ERROR_TYPE_FP_NAN")]  # fmt: skip
    if outcome is COLLECTIVES:
        return [("exec_consume_topsp_cc_notifications", f"(FATAL-RT-UNDEFINED-STATE) missing collectives status on Neuron Device {device} NC "
                 f"{core}, model 0 - suspected hang in collectives operation 0 out of 96")]  # fmt: skip
    return []
