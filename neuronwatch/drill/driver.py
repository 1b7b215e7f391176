"""What the driver and the kernel say about devices in trouble. Called where the state changes, and once a tick for what lasts."""

from __future__ import annotations

from neuronwatch.drill.machine import Device, Machine

EVERY = 60.0
"""Seconds between two readings of the firmware (power, ECC) by the driver."""


def tick(machine: Machine, seconds: float) -> None:
    """A firmware that does not answer lets the driver's requests time out."""
    for device in machine.devices:
        if device.present and device.firmware_hung and machine.driver_loaded:
            device.silent += seconds
            if device.silent >= EVERY or device.silent == seconds:
                device.silent = min(device.silent, 0.001)
                no_answer(machine)
        else:
            device.silent = 0.0


def no_answer(machine: Machine) -> None:
    sequence = 100 + machine.rng.randrange(400)
    machine.kernel.driver("fw_io_execute_request_new", f"seq: {sequence}, cmd: 4 timed out")
    machine.kernel.driver("fw_io_ecc_read", "failed to get ecc error count from the device for ecc_offset=48")
    machine.kernel.say("sysfs failed to read ECC SRAM error from FWIO")
    machine.kernel.say("sysfs failed to read power stats from FWIO, error = -110")


def link_down(machine: Machine, device: Device) -> None:
    """The PCI port above the device loses it."""
    port = f"pcieport {device.address[:-4]}00.0: pciehp: Slot({device.index})"
    machine.kernel.say(f"{port}: Link Down")
    machine.kernel.say(f"{port}: Card not present")


def late_transfer(machine: Machine, device: Device) -> None:
    machine.kernel.driver("ndma_memcpy_wait_for_completion",
                          f"DMA completion timeout on nd{device.index:02d} for UDMA_ENG_33 q0 desc count 64")  # fmt: skip


def copied_again(machine: Machine, device: Device) -> None:
    machine.kernel.driver("_ndma_memcpy_wait_for_completion", f"Failed to copy memory during a NeuronCore reset: nd {device.index}, src "
                          "0x100154480000, dst 0x100154500000, size 16777216. Retrying the copy.")  # fmt: skip


def reset_done(machine: Machine, device: Device, request: int) -> None:
    machine.kernel.driver("nr_reset_thread_fn", f"nd{device.index}: initiating TPB reset request {request}")
    machine.kernel.driver("nr_reset_thread_fn", f"nd{device.index}: reset request {request} completed")


def reset_failed(machine: Machine, device: Device, request: int) -> None:
    machine.kernel.driver("nr_reset_thread_fn", f"nd{device.index}: initiating TPB reset request {request}")
    machine.kernel.driver("nr_reset_thread_fn", f"nd{device.index}: reset request {request} was initiated, but failed to complete")
