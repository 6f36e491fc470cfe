# SPDX-License-Identifier: Apache-2.0
"""Does a hardware design that is compiled out of the tree run, and does its interface have a
number that changes with it?"""

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = "examples/design_template"
HEADERS = "holdfast/machine/sim/design"
DECLARATIONS = [
    "design.h", "design_context.h", "design_types.h", "design_info.h", "../caches/cache_array.h",
]  # fmt: skip


def checksum(headers: list[str]) -> str:
    """The checksum of all declarations. Comments and spaces do not count."""
    code = "".join(re.sub(r"//[^\n]*", "", header) for header in headers)
    return hashlib.sha256("".join(code.split()).encode()).hexdigest()[:8]


def test_the_number_of_the_interface_is_the_checksum_of_its_headers():
    """Otherwise a design that was compiled before a change would be loaded, and go wrong."""
    folder = REPOSITORY / HEADERS
    right = checksum([(folder / name).read_text() for name in DECLARATIONS])
    written = re.search(r"kDesignInterface = 0x(\w+);", (folder / "own_design.h").read_text())
    assert written is not None
    assert written[1] == right, f"{HEADERS}/own_design.h: set kDesignInterface to 0x{right}"


def test_comments_do_not_change_the_number_and_functions_do():
    assert checksum(["int f();  // a\n"]) == checksum(["int  f();  // b\n"])
    assert checksum(["int f();"]) != checksum(["int g();"])


def test_the_template_is_short():
    assert len((REPOSITORY / FOLDER / "design.cc").read_text().splitlines()) < 200


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder, copied to another place and compiled there as its README says."""
    folder = tmp_path_factory.mktemp("design") / "mine"
    shutil.copytree(REPOSITORY / FOLDER, folder)
    compiling = re.search(r"^```sh\n(H=.*?)^```", (folder / "README.md").read_text(), re.M | re.S)
    assert compiling is not None
    done = subprocess.run(
        ["bash", "-euc", compiling[1]],
        cwd=folder, env={"H": str(REPOSITORY), "PATH": "/usr/bin:/bin"}, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout == "", done.stdout
    return folder


def test_the_template_runs_by_its_path(copy: Path, invoke, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(copy)
    done = invoke(
        "sim", "sps", "--machine", "tiny", "--design", "./mine.so", "--transactions", "20",
        "--json", "-",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["context"]["design"] == "./mine.so"


def test_the_template_passes_its_crash_suite(copy: Path, invoke, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(copy)
    done = invoke("crash", "--machine", "tiny", "--design", "mine.so", "--schedules", "3")
    assert done.exit_code == 0, done.output


def test_a_transaction_that_the_template_cannot_hold_is_a_clear_error(copy: Path, invoke):
    done = invoke(
        "sim", "sps", "--machine", "tiny", "--design", copy / "mine.so",
        "--design-option", "lines=1", "--transactions", "20",
    )  # fmt: skip
    assert done.exit_code != 0
    assert "so large a transaction" in done.output


def test_a_wrong_file_and_a_wrong_option_are_clear_errors(copy: Path, invoke):
    def said(*options: object) -> str:
        done = invoke("sim", "sps", "--machine", "tiny", *options)
        assert done.exit_code != 0
        return " ".join(done.output.split())

    assert "there is no file './none.so'" in said("--design", "./none.so")
    assert "is no hardware design" in said("--design", copy / "README.md")
    wrong = said("--design", copy / "mine.so", "--design-option", "x=1")
    assert "hardware design 'undo-log' has no option 'x'; it has lines" in wrong


def test_cmake_builds_the_template_too(copy: Path):
    done = subprocess.run(
        ["bash", "-euc", 'cmake -B build -DHOLDFAST="$1" && cmake --build build', "", REPOSITORY],
        cwd=copy, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert (copy / "build/mine.so").exists()
