// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "holdfast/heap/heap.h"
#include "holdfast/machine/native/native_machine.h"
#include "tests/engine/conformance_suite.h"

namespace holdfast::conformance {

/// Heaps of one engine in files of a temporary directory on this computer.
template <class E>
class NativeWorld {
 public:
  using H = Heap<E>;
  static constexpr int kThreads = 4;
  static constexpr int kRounds = 60;  // each may cost an fdatasync
  static constexpr int kSkewRounds = 40;
  static constexpr bool kFindsSkew =
      false;  // real schedules need luck; the simulated machine must find it

  explicit NativeWorld(Domain domain) {
    // In memory where possible: thousands of fdatasyncs on a disk would take hours and test the
    // disk.
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
  const Description& description() const { return E::kDescription; }

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

}  // namespace holdfast::conformance
