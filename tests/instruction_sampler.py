"""Which instructions of a library a program really executes: ptrace stops it again and again and reads its code."""

import ctypes
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import capstone  # type: ignore[import-untyped]

_PTRACE_CONT, _PTRACE_GETREGS, _PTRACE_DETACH, _PTRACE_SEIZE, _PTRACE_INTERRUPT = 7, 12, 17, 0x4206, 0x4207
_WALL = 0x40000000
_X86_64_REGISTERS, _X86_64_RIP = 27, 16
_LONGEST_INSTRUCTION = 15
_INTERVAL_S = 0.001


def sample_instructions(command: Sequence[str], library: str, count: int) -> list[str]:
    """The instructions, as text, at which an x86-64 program was met inside the library; it is stopped afterwards."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    disassembler = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    registers = (ctypes.c_ulonglong * _X86_64_REGISTERS)()
    found: list[str] = []
    try:
        if libc.ptrace(_PTRACE_SEIZE, process.pid, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace is not allowed here")
        deadline = time.monotonic() + 60
        while len(found) < count and time.monotonic() < deadline:
            time.sleep(_INTERVAL_S)
            libc.ptrace(_PTRACE_INTERRUPT, process.pid, None, None)
            os.waitpid(process.pid, _WALL)
            libc.ptrace(_PTRACE_GETREGS, process.pid, None, ctypes.addressof(registers))
            found += _read_instruction(process.pid, registers[_X86_64_RIP], library, disassembler)
            libc.ptrace(_PTRACE_CONT, process.pid, None, None)
    finally:
        process.kill()
        process.wait(timeout=30)
    return found


def _read_instruction(pid: int, address: int, library: str, disassembler: capstone.Cs) -> list[str]:
    for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
        start, _, end = line.split()[0].partition("-")
        if library in line and int(start, 16) <= address < int(end, 16):
            with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
                memory.seek(address)
                code = memory.read(_LONGEST_INSTRUCTION)
            return [f"{i.mnemonic} {i.op_str}" for i in disassembler.disasm(code, address, 1)]
    return []
