// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "holdfast/heap/file/native_heap_file.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/native/native_machine.h"
#include "tests/engine/conformance_suite.h"
#include "tests/native/compaction_questions.h"

namespace holdfast::conformance {

/// The conformance suite's World on the native machine: makes heaps in a temporary directory. E is
/// an engine or AnyEngine; `engine` names the engine.
template <class E>
class NativeWorld {
 public:
  using H = Heap<E>;
  static int threads() { return 4; }
  static int rounds() { return 60; }  // each operation may cost an fdatasync
  static int skew_rounds() { return 40; }
  static bool finds_skew() { return false; }  // only simulated schedules provoke it reliably

  NativeWorld(const std::string& engine, Domain domain) {
    options_.engine = engine;
    // In memory if possible: thousands of fdatasyncs on a disk would take hours, and test the disk.
    const std::filesystem::path memory = "/dev/shm";
    const auto parent =
        std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
    std::string pattern = (parent / "holdfast-test-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    native_.domain = domain;
    native_.force = true;  // pmem and eadr are emulated on ordinary files
    options_.bytes = 2 << 20;
    options_.max_bytes = 32 << 20;
    options_.max_threads = 8;
  }
  ~NativeWorld() {
    heap_.reset();
    std::filesystem::remove_all(directory_);
  }

  CreateOptions& options() { return options_; }
  NativeOptions& native() { return native_; }
  const Description& description() const {
    return *EngineFactory<E>::describe(options_.engine).value();
  }

  H& heap() {
    if (heap_ == nullptr) {
      heap_ = H::create(path(), options_, native_).value();
    }
    return *heap_;
  }

  void reopen() {
    heap().close().check();
    heap_.reset();
    heap_ = H::open(path(), {}, native_).value();
  }

  template <class F>
  void run(int n, F&& f) {
    heap().machine().run_threads(n, FunctionRef<void(int)>(f));
  }

 private:
  std::string path() const { return directory_ + "/heap"; }

  std::string directory_;
  NativeOptions native_;
  CreateOptions options_;
  std::unique_ptr<H> heap_;
};

/// Registers the questions about the access path, for an engine without AnyEngine.
template <class E>
void register_direct(const std::string& engine) {
  using World = NativeWorld<E>;
  for (const Domain domain : kDomains) {
    if (!E::kDescription.runs_in(domain)) {
      continue;
    }
    const std::string prefix = "direct/" + engine + "/" + to_string(domain);
    const auto make = [engine, domain] { return std::make_unique<World>(engine, domain); };
    register_questions<World>(prefix, access_questions<World>(), make);
    register_questions<World>(prefix, native_questions<World>(), make);
  }
}

}  // namespace holdfast::conformance
