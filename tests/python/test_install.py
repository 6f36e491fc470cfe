# SPDX-License-Identifier: Apache-2.0
"""Can a program be built against an installed Holdfast, wherever the installed tree lies?"""

import os
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / "build" / "release"

_CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(holdfast REQUIRED)
add_executable(user {source})
target_link_libraries(user PRIVATE {library})
"""


def _run(*command: object, **arguments) -> str:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **arguments
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _pkg_config(prefix: Path, package: str) -> list[str]:
    folder = next(prefix.rglob("holdfast.pc")).parent
    return _run(
        "pkg-config", "--cflags", "--libs", package,
        env={**os.environ, "PKG_CONFIG_PATH": str(folder)},
    ).split()  # fmt: skip


@pytest.fixture(scope="module")
def prefix(tmp_path_factory) -> Path:
    """An installed tree that was moved after it was installed."""
    folder = tmp_path_factory.mktemp("install")
    _run("cmake", "--install", BUILD, "--component", "development", "--prefix", folder / "first")
    (folder / "first").rename(folder / "moved")
    return folder / "moved"


def test_internal_headers_stay_at_home(prefix):
    installed = {str(path.relative_to(prefix / "include")) for path in prefix.rglob("*.h")}
    assert {"holdfast/holdfast.h", "holdfast/db/db.h", "holdfast/db/c.h"} <= installed
    strangers = [
        name for name in installed if name.split("/")[1] in {"check", "runner", "bindings"}
    ]
    assert strangers == []
    assert not any(name.startswith("holdfast/machine/sim/") for name in installed)


def test_a_cmake_program_builds_and_runs(prefix, tmp_path):
    """CMake finds the package in its new place; the program is the README's."""
    source = REPOSITORY / "examples" / "hello.cc"
    (tmp_path / "CMakeLists.txt").write_text(
        _CMAKE.format(source=source, library="holdfast::holdfast")
    )
    _run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    _run("cmake", "--build", tmp_path / "build")
    _run(tmp_path / "build" / "user", cwd=tmp_path)


def test_a_compiler_for_an_older_standard_is_told(prefix, tmp_path):
    """The package asks CMake for C++20, so a program that says nothing gets it."""
    (tmp_path / "user.cc").write_text("static_assert(__cplusplus >= 202002L); int main() {}\n")
    (tmp_path / "CMakeLists.txt").write_text(
        _CMAKE.format(source="user.cc", library="holdfast::holdfast")
    )
    _run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    _run("cmake", "--build", tmp_path / "build")


@pytest.mark.parametrize("header", ["table.h", "table_builder.h", "dumpfile.h"])
def test_headers_of_leveldb_that_do_not_apply_say_so(prefix, tmp_path, header):
    source = tmp_path / "user.cc"
    source.write_text(f"#include <holdfast/db/export.h>\n#include <holdfast/db/{header}>\n")
    command = ("g++", "-std=c++20", "-fsyntax-only", f"-I{prefix}/include", source)
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "#error" in result.stderr and "HoldfastDB has no" in result.stderr


def test_pkg_config_names_the_new_place(prefix):
    flags = _pkg_config(prefix, "holdfast_db")
    include = next(flag for flag in flags if flag.startswith("-I"))
    assert str(prefix.resolve()) in os.path.realpath(include[2:])
    assert "-lholdfast_db" in flags


def test_a_program_needs_no_library_of_the_simulator(prefix, tmp_path):
    """Boost.Context serves the simulated machine only, which is not installed."""
    assert not list(prefix.rglob("libholdfast_simulator*"))
    program = tmp_path / "visits"
    source = REPOSITORY / "examples" / "visits.cc"
    _run("g++", "-std=c++20", source, "-o", program, *_pkg_config(prefix, "holdfast_db"))
    _run(program, cwd=tmp_path)
    assert "boost" not in _run("ldd", program)
