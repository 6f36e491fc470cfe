// SPDX-License-Identifier: Apache-2.0
//
// One run of a register program by the threads of this computer. Threads yield in bodies and at
// fences, so that a few transactions meet in many ways. The process stops now and then, and what it
// has in its file is judged as after a kill.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/check/durability/durability.h"
#include "holdfast/check/isolation/isolation.h"
#include "holdfast/check/registers/checked_registers.h"
#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/file/native_heap_file.h"
#include "holdfast/runner/crash/crash_registers.h"
#include "holdfast/runner/crash/engine_checks.h"
#include "tests/engine_options.h"
#include "tests/native/stopped_process.h"
#include "tests/native/test_file.h"

namespace holdfast {

/// The part of a stress that the child and its parent share.
struct StressState {
  static constexpr int kImages = 5;

  /// Begins another run. The counts of rare paths go on.
  void restart() { stops = 0, images = 0, running = false; }
  check::Recorder& recorder() { return *reinterpret_cast<check::Recorder*>(recorder_memory); }

  ProbeCounts probes;
  std::atomic<bool> running{false};
  std::atomic<int> stops{0};   ///< asked for
  std::atomic<int> images{0};  ///< copies of the file that the parent has made
  /// The recorder's clock at each. The parent reads it while the child stands still, so the
  /// recorder lies here.
  std::array<uint64_t, kImages> clocks = {};
  alignas(check::Recorder) std::byte recorder_memory[sizeof(check::Recorder)];
};

/// How the stress runs an engine.
struct StressSetting {
  EngineVariant variant;
  Domain domain = Domain::file;
  bool few_lines = false;  ///< hardware transactions hold a few lines only
  uint64_t seed = 0;
};

class RegisterStress {
 public:
  using E = AnyEngine<NativeMachine>;
  using H = Heap<E>;

  RegisterStress(const Description& engine, const StressSetting& setting, StressState& state)
      : engine_(engine),
        setting_(setting),
        state_(state),
        shape_(shape_of(setting.variant)),
        program_(program_of(setting, shape_.program)),
        registers_(objects(), shape_.program.shared, shape_.boxed, pieces()) {
    registers_.between_steps([this] { let_others_run(kStopInBody); });
    native_.domain = setting.domain;
    native_.force = true;  // pmem and eadr are emulated on ordinary files
    native_.probes = &state.probes;
    native_.sync = [this](int) {
      let_others_run(kStopAtFence);
      return 0;
    };
    if (setting.few_lines) {
      native_.htm = {.store_lines = 6, .load_lines = 24};
    }
  }

  void run() {
    state_.restart();
    run_with_stops([this] { in_child(); },
                   [this] {
                     const int n = state_.images++;
                     std::filesystem::copy_file(file_.path(), image(n));
                     state_.clocks[static_cast<size_t>(n)] = state_.recorder().clock();
                   });
  }

 private:
  static constexpr int kTransactions = 24;  ///< of a thread, at least
  /// The chance of a stop. Images of half a commit are worth more than those of half a body.
  static constexpr double kStopInBody = 0.005;
  static constexpr double kStopAtFence = 0.04;

  static check::RegisterShape shape_of(const EngineVariant& variant) {
    auto params = variant.params;
    params.try_emplace("transactions", variant.transactions.empty() ? "3" : variant.transactions);
    auto shape = crash_registers_shape(Parameters::make(crash_registers_info(), params).value());
    shape.program.transactions = std::max(shape.program.transactions, kTransactions);
    return shape;
  }

  /// A random program, or the variant's, again and again.
  static check::RegisterProgram program_of(const StressSetting& setting,
                                           const check::ProgramShape& shape) {
    if (setting.variant.program.empty()) {
      Random random(mix64(setting.seed));
      return random_program(shape, random);
    }
    auto program = check::RegisterProgram::parse(setting.variant.program, kMostRegisters).value();
    for (auto& thread : program.threads) {
      const auto once = thread;
      while (!once.empty() && thread.size() < static_cast<size_t>(shape.transactions)) {
        thread.insert(thread.end(), once.begin(), once.end());
      }
    }
    return program;
  }

  int threads() const { return static_cast<int>(program_.threads.size()); }
  /// The shared objects, and one mark for each possible update.
  check::Object objects() const { return std::max(shape_.program.shared, program_.objects()); }
  check::Object pieces() const { return std::max(shape_.program.string(), program_.pieces()); }
  std::string image(int n) const { return file_.path() + "." + std::to_string(n); }

  void let_others_run(double stop) {
    static std::atomic<uint64_t> threads_so_far{0};
    thread_local Random random(mix64(setting_.seed) + threads_so_far.fetch_add(1));
    if (!state_.running.load(std::memory_order_relaxed)) {
      return;
    }
    if (random.chance(0.2)) {
      std::this_thread::yield();
    }
    // A volatile engine has nothing that a kill could leave.
    if (is_durable(engine_) && random.chance(stop) && state_.stops < StressState::kImages &&
        state_.stops.fetch_add(1) < StressState::kImages) {
      stop_here();
    }
  }

  void in_child() {
    heap_ = H::create(file_.path(), options(), native_).value();
    registers_.set_up(*heap_).check();
    registers_.attach(*heap_).check();
    heap_->fence().check();  // the judges' initial state, which no lag may take
    auto* const recorder = new (state_.recorder_memory)
        check::Recorder(registers_.all_objects(), static_cast<uint32_t>(threads()));
    state_.running = true;
    heap_->machine().run_threads(threads(), [&](int thread) {
      client(thread, recorder->client(static_cast<uint32_t>(thread)));
    });
    grow_together();
    state_.running = false;
    const check::History history = recorder->history();
    for (const auto& found : check_isolation(history, engine_.isolation, true)) {
      ADD_FAILURE() << to_string(found, history);
    }
    heap_->close().check();
    judge(file_.path(), check::kForever);
    for (int n = 0; n < state_.images; ++n) {
      judge(image(n), state_.clocks[static_cast<size_t>(n)]);
    }
  }

  CreateOptions options() const {
    CreateOptions o;
    o.engine = engine_.name;
    o.options = with_tiny(engine_, setting_.variant.options);
    o.bytes = 16 << 10;
    o.max_bytes = 8 << 20;
    o.max_threads = threads() + 1;  // and the main thread
    o.journal_bytes = setting_.variant.journal ? 128 << 10 : 0;
    return o;
  }

  void client(int thread, check::ClientLog& log) {
    for (const check::Body& body : program_.threads[static_cast<size_t>(thread)]) {
      const Status status = registers_.execute(*heap_, body, log);
      const bool too_large = status.code() == Code::too_large && body.uses_pieces();
      if (!status.ok() && (!too_large || engine_.any_size)) {
        ADD_FAILURE() << status.to_string();
        return;
      }
    }
  }

  /// Threads need a larger heap at the same time. Then an update stores more in each run than in
  /// the one before, and allocates more than the heap has: it may need a loan, a larger one, and a
  /// larger heap. Further ones promote a word that they do not store to, and use more than the
  /// whole heap before.
  void grow_together() {
    constexpr size_t kBlock = 16 << 10;
    constexpr size_t kLarge = 128 << 10;
    std::byte* large = nullptr;
    heap_->machine().run_threads(threads(), [&](int thread) {
      for (int i = 0; i < 6; ++i) {
        const auto body = [&] {
          let_others_run(kStopInBody);
          auto* const block = static_cast<std::byte*>(H::allocate(i == 5 ? kLarge : kBlock));
          if (thread == 0) {
            large = block;
          }
          let_others_run(kStopInBody);
        };
        heap_->update(body).check();
      }
    });
    const std::vector<std::byte> bytes(kLarge);
    const auto promoting = [&] {
      E::promote(large, sizeof(uint64_t));
      E::store_range(large + kBlock, bytes.data(), sizeof(uint64_t));
    };
    heap_->update(promoting).check();
    size_t runs = 0;
    const Status status = heap_->update([&] {
      runs = std::min<size_t>(runs + 1, 4);
      E::store_range(large, bytes.data(), runs * kLarge / 4);
      if (runs == 4) {
        H::allocate(8 * kLarge);
      }
    });
    EXPECT_TRUE(status.ok() || (status.code() == Code::too_large && !engine_.any_size))
        << status.to_string();
    const auto doubling = [&] {
      auto* const block = static_cast<std::byte*>(H::allocate(16 * kLarge));
      E::store_range(block + 15 * kLarge, bytes.data(), sizeof(uint64_t));
    };
    heap_->update(doubling).check();
  }

  /// Judges a file by the history until then.
  void judge(const std::string& path, uint64_t until) {
    heap_.reset();
    heap_ = H::open(path, {}, native_).value();
    registers_.attach(*heap_).check();
    const auto words = registers_.observe(*heap_).value();
    const check::History history = state_.recorder().history(until);
    for (const auto& found :
         check_durability(history, words, heap_->promise(), {.isolation = engine_.isolation})) {
      ADD_FAILURE() << path << ": " << to_string(found, history);
    }
    const HeapCheck walked = heap_->check().value();
    EXPECT_TRUE(walked.ok()) << path;
  }

  const Description& engine_;
  const StressSetting setting_;
  StressState& state_;
  const check::RegisterShape shape_;
  const check::RegisterProgram program_;
  check::CheckedRegisters<H> registers_;
  NativeTestFile file_{"/dev/shm"};
  NativeOptions native_;
  std::unique_ptr<H> heap_;
};

}  // namespace holdfast
