# SPDX-License-Identifier: Apache-2.0
"""The computer a measurement is made on. Printed with every measurement and kept in its JSON."""

import os
import platform
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import holdfast


@dataclass(frozen=True)
class Environment:
    date: str
    host: str
    cpu: str
    cores: int
    memory_bytes: int
    kernel: str
    hypervisor: bool
    write_back: str
    clock_source: str
    governor: str
    python: str
    version: str
    commit: str

    def summary(self) -> list[str]:
        """Three lines for people."""
        guest = ", virtual machine" if self.hypervisor else ""
        memory = self.memory_bytes / 2**30
        governor = f", governor {self.governor}" if self.governor else ""
        return [
            f"{self.cpu}, {self.cores} cores{guest}, {memory:.0f} GiB, {self.kernel}",
            f"write-back by {self.write_back}, clock {self.clock_source}{governor}",
            f"holdfast {self.version} ({self.commit}), {self.date}",
        ]


def describe() -> Environment:
    return Environment(
        date=datetime.now(UTC).astimezone().isoformat(timespec="seconds"),
        host=platform.node(),
        cpu=_cpu_model(),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        kernel=f"{platform.system()} {platform.release()} {platform.machine()}",
        hypervisor=_has_cpu_flag("hypervisor"),
        write_back=_write_back_instruction(),
        clock_source=_first_line(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        governor=_first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        python=platform.python_version(),
        version=holdfast.__version__,
        commit=_commit(),
    )


def file_system(path: Path) -> str:
    """The type of the path's file system, such as ext4; "unknown" where /proc does not say."""
    return mount(path)[1]


def mount(path: Path) -> tuple[str, str]:
    """Where the path's file system is mounted, and its type; "unknown" as above."""
    path = path.resolve()
    found = "", "unknown"
    try:
        mounts = Path("/proc/mounts").read_text().splitlines()
    except OSError:
        return found
    for line in mounts:
        _, folder, kind, *_ = line.split()
        if path.is_relative_to(folder) and len(folder) > len(found[0]):
            found = folder, kind
    return found


def _cpu_info(key: str) -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == key:
                return value.strip()
    except OSError:
        pass
    return ""


def _cpu_model() -> str:
    return _cpu_info("model name") or platform.processor() or platform.machine()


def _has_cpu_flag(flag: str) -> bool:
    return flag in _cpu_info("flags").split()


def _write_back_instruction() -> str:
    if platform.machine() == "aarch64":
        return "DC CVAP" if "dcpop" in _cpu_info("Features").split() else "DC CVAC"
    for flag, name in (("clwb", "CLWB"), ("clflushopt", "CLFLUSHOPT"), ("clflush", "CLFLUSH")):
        if _has_cpu_flag(flag):
            return name
    return "none"


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text().split("\n", 1)[0]
    except OSError:
        return ""


def _commit() -> str:
    """The checkout's commit, with "+changes" if files differ; "release" outside a checkout."""
    root = Path(holdfast.__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return "release"
    git = ["git", "-C", str(root), "describe", "--always", "--dirty=+changes", "--abbrev=12"]
    try:
        done = subprocess.run(git, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return done.stdout.strip() if done.returncode == 0 else "unknown"
