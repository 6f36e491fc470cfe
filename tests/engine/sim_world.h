// SPDX-License-Identifier: Apache-2.0
//
// The conformance suite's World on the simulated machine.
#pragma once

#include <memory>
#include <string>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/hardware/designs.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/engine/conformance_suite.h"
#include "tests/engine_options.h"
#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::conformance {

/// Makes heaps on the simulated machine, with an engine that is chosen by name.
class SimWorld {
 public:
  using H = Heap<AnyEngine<SimMachine>>;

  SimWorld(std::string engine, Domain domain, uint64_t seed, size_t line_bytes = 64) {
    options_.engine = std::move(engine);
    options_.bytes = 1 << 20;
    options_.max_bytes = 16 << 20;
    sim_.threads = 4;
    sim_.domain = domain;
    sim_.seed = seed;
    sim_.slot_order = seed;
    sim_.line_bytes = line_bytes;
  }
  ~SimWorld() {
    heap_.reset();
    machine_.reset();
  }

  /// Simulates a described computer with `threads` threads, timed or under a random schedule.
  SimWorld(std::string engine, const std::string& machine, int threads, Schedule schedule)
      : SimWorld(std::move(engine), Domain::pmem, 1) {
    const std::string file = HOLDFAST_SOURCE_DIR "/experiments/machines/" + machine + ".toml";
    sim_.machine = std::make_shared<MachineDescription>(load_machine(file).value());
    sim_.schedule = schedule;
    sim_.domain = usual_domain(description());
    use_design(sim_, description().needs_design ? design_test::durable_design() : "");
    sim_.threads = threads;
    // Logs and markers grow with the number of threads.
    options_.max_bytes = 64 << 20;
  }

  int threads() const { return sim_.threads; }
  int rounds() const { return threads() > 4 ? 3 : 12; }
  static int skew_rounds() { return 60; }
  /// If transactions cannot be suspended, FUR takes its lock, which prevents skew.
  bool finds_skew() const {
    return sim_.schedule == Schedule::random && (!sim_.machine || sim_.machine->htm.suspend);
  }

  CreateOptions& options() { return options_; }
  SimOptions& machine_options() { return sim_; }
  const Description& description() const {
    return *AnyEngine<SimMachine>::describe(options_.engine).value();
  }
  SimMachine& machine() { return *machine_; }

  H& heap() {
    if (heap_ == nullptr) {
      machine_ = std::make_unique<SimMachine>(sim_);
      heap_ = H::create(*machine_, options_).value();
    }
    return *heap_;
  }

  /// Closes the heap, and opens the earliest legal image: everything acknowledged must be in it.
  void reopen() {
    heap().close().check();
    restart(machine_->earliest_image());
  }

  void restart(const SimImage& image) {
    heap_.reset();
    machine_.reset();
    ++sim_.seed;
    machine_ = std::make_unique<SimMachine>(sim_, image);
    machine_->power_on();
    heap_ = H::open(*machine_, {}).value();
  }

  template <class F>
  void run(int n, F&& f) {
    heap().machine().run_threads(n, FunctionRef<void(int)>(f));
  }

 private:
  SimOptions sim_;
  CreateOptions options_;
  std::unique_ptr<SimMachine> machine_;
  std::unique_ptr<H> heap_;
};

}  // namespace holdfast::conformance
