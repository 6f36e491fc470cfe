# SPDX-License-Identifier: Apache-2.0
#
# Every target does its own set-up: missing Debian packages, a virtual environment in .venv, the
# build, and the command .venv/bin/holdfast. A second run finds everything done.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build

VENV := .venv
STAMPS := build/stamps
PYTHON_ENV := $(VENV)/.ready
COMMAND := $(VENV)/bin/holdfast
JOBS ?= $(shell tools/jobs.sh)
# ON: a build from scratch is faster, a build after a change slower.
UNITY ?= OFF
# Engines for which the command line's workloads and HoldfastDB are compiled anew, with ; between
# them; empty: all. The build is shorter with few. Measurements need all.
INLINED ?=
# Arguments for the demo, such as DEMO="--quick".
DEMO ?=
# Arguments for tools/mutate.py, such as MUTATION="--folders heap --count 50".
MUTATION ?=
# No test measures time, so they may share the cores.
CTEST := ctest --output-on-failure --timeout 900 --parallel $(JOBS)
# The sanitizers of g++ 12 need addresses less random than newer kernels make them.
STEADY := $(shell (( $$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0) > 28 )) && \
  setarch -R true 2>/dev/null && echo setarch -R)

.PHONY: build build-all demo test test-sanitize test-asan test-tsan test-power test-aarch64 \
  test-long mutation lint format wheel clean

# Builds only what the command needs. The tests take as long again to build.
build: $(COMMAND)
	cmake --build build/release --parallel $(JOBS) --target _core _db peers

demo: build
	$(COMMAND) demo $(DEMO)

build-all: $(COMMAND)
	cmake --build build/release --parallel $(JOBS)

test: build-all
	$(CTEST) --test-dir build/release -LE long --no-tests=error
	$(VENV)/bin/python -m pytest --numprocesses $(JOBS) --dist worksteal

test-sanitize: test-asan test-tsan

# Canaries run engines with planted bugs thousands of times, which sanitizers do not need to see.
# The simulated machine is one thread, so ThreadSanitizer runs the native suites only.
test-asan: SUITES := all
test-asan: CTEST += --label-exclude '^(long|canary)$$'
test-tsan: SUITES := native_test db_native_test
test-tsan: CTEST += --label-regex '^(native|db_native)$$'

# With clang, code for AddressSanitizer compiles in half the time, and code for ThreadSanitizer runs
# in half the time. Without clang, g++ compiles both.
test-asan test-tsan: test-%: $(STAMPS)/packages $(STAMPS)/packages-sanitize
	cmake --preset $* $$(tools/choose_sanitizing_compiler.sh)
	$(STEADY) cmake --build build/$* --parallel $(JOBS) --target $(SUITES)
	$(STEADY) $(CTEST) --test-dir build/$* --no-tests=error

# Cross-compiled, and run in an emulator, where POWER's hardware transactions always abort.
test-power test-aarch64: test-%: $(STAMPS)/packages $(STAMPS)/packages-%
	cmake --preset $*
	cmake --build build/$* --parallel $(JOBS) --target native_test
	$(CTEST) --test-dir build/$* -LE long --no-tests=error

test-long: build-all
	$(CTEST) --test-dir build/release -L long --timeout 7200
	$(VENV)/bin/python -m pytest -m long --numprocesses $(JOBS) --dist worksteal

mutation: $(PYTHON_ENV) $(VENV)/.mutation
	$(VENV)/bin/python tools/mutate.py $(MUTATION)

$(VENV)/.mutation: requirements-mutation.txt $(PYTHON_ENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $<
	@touch $@

lint: $(STAMPS)/packages-lint $(PYTHON_ENV)
	cmake --preset lint -DHOLDFAST_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/$(VENV)/bin/python
	cmake --build build/lint --target population_sources
	tools/lint.sh $(JOBS)

format: $(STAMPS)/packages-lint $(PYTHON_ENV)
	tools/lint.sh --fix-format

wheel: $(PYTHON_ENV)
	$(VENV)/bin/python -m pip wheel --no-deps --wheel-dir out/wheel .

clean:
	rm -rf build out $(VENV)

$(STAMPS)/packages: packages.txt
	tools/install_packages.sh packages.txt
	@mkdir -p $(@D) && touch $@

$(STAMPS)/packages-sanitize: packages-sanitize.txt
	tools/install_packages.sh packages-sanitize.txt || echo "Without them g++ is used."
	@mkdir -p $(@D) && touch $@

$(STAMPS)/packages-lint $(STAMPS)/packages-power $(STAMPS)/packages-aarch64: $(STAMPS)/%: %.txt
	tools/install_packages.sh $<
	@mkdir -p $(@D) && touch $@

$(PYTHON_ENV): requirements.txt | $(STAMPS)/packages
	python=$$(tools/choose_python.sh) && "$$python" -m venv --clear $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
	  -r requirements.txt
	@mkdir -p $(@D) && touch $@

build/release/build.ninja: CMakePresets.json $(PYTHON_ENV) | $(STAMPS)/packages
	cmake --preset release -DHOLDFAST_PYTHON=ON -DHOLDFAST_UNITY=$(UNITY) \
	  "-DHOLDFAST_INLINED_ENGINES=$(INLINED)" \
	  -DPython_EXECUTABLE=$(CURDIR)/$(VENV)/bin/python \
	  -DCMAKE_LIBRARY_OUTPUT_DIRECTORY=$(CURDIR)/build/release/python/holdfast
	@touch $@

$(COMMAND): tools/install_development.py build/release/build.ninja
	$(VENV)/bin/python tools/install_development.py . build/release
	@touch $@
