// SPDX-License-Identifier: Apache-2.0
//
// Any engine, chosen by name at run time: a table of all engines behind virtual functions.

// On the simulated machine, the heap, the structures and the workloads are compiled once, over
// AnyEngine. Natively they are compiled once per engine, because a virtual call per load would show
// in measurements.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/base/bytes.h"
#include "holdfast/engines/engine.h"
#include "holdfast/engines/engine_call.h"
#include "holdfast/engines/parts/basics/log_replay.h"

namespace holdfast {

/// One engine behind virtual functions. Words travel as uint64_t with their size.
template <class M>
class EngineHandle {
 public:
  virtual ~EngineHandle() = default;
  virtual Status format() = 0;
  virtual Status recover(RecoveryReport& report) = 0;
  virtual void grown(size_t bytes) = 0;
  virtual void lend(const Loan& loan) = 0;
  virtual Status settle() = 0;
  virtual Status close() = 0;
  /// Code::unsupported unless the engine's row says that it replays.
  virtual Result<ReplayReport> replay(const ReplayOptions& options) = 0;
  /// Durable whatever `commit` says, if the engine cannot lag.
  virtual void update(Partitions partitions, FunctionRef<void()> body, Commit commit) = 0;
  void update(FunctionRef<void()> body, Commit commit) { update(Partitions::all(), body, commit); }
  void update(FunctionRef<void()> body) { update(body, Commit::unsaid); }
  virtual void fence() = 0;
  /// Code::unsupported if the engine has no barrier.
  virtual Status barrier() = 0;
  virtual PendingUpdates pending() = 0;
  virtual void read(Partitions partitions, FunctionRef<void()> body) = 0;
  void read(FunctionRef<void()> body) { read(Partitions::all(), body); }
  virtual void have_partitions(int count) = 0;
  virtual void metadata() = 0;
  virtual uint64_t load(const void* p, size_t bytes) = 0;
  virtual void store(void* p, uint64_t value, size_t bytes) = 0;
  virtual void load_range(void* to, const void* from, size_t n) = 0;
  virtual void store_range(void* to, const void* from, size_t n) = 0;
  virtual void promote(const void* p, size_t n) = 0;
  virtual void fresh(const void* p, size_t n) = 0;
  virtual void released(const void* p, size_t n) = 0;
  virtual Statistics statistics() const = 0;
};

/// One engine in the table of engines.
template <class M>
struct EngineRow {
  const Description* description;
  std::unique_ptr<EngineHandle<M>> (*make)(M&, const Regions&, const Options&, int max_threads);
  bool replays;  ///< has ReplaysLogs
  /// False if all its updates take a lock with these hardware transactions, or if it needs none.
  bool (*uses_hardware)(const HtmCapabilities& can);
};

/// All engines, in the order of holdfast/engines/CMakeLists.txt. Defined for each machine that is
/// given to holdfast_any_engines there: SimMachine in the library, NativeMachine in the conformance
/// suite.
template <class M>
const std::vector<EngineRow<M>>& engine_rows();

/// Implements EngineHandle by calls of engine E.
template <class E>
class EngineHandleOf final : public EngineHandle<typename E::Machine> {
 public:
  using M = typename E::Machine;

  EngineHandleOf(M& machine, const Regions& regions, const Options& options, int max_threads)
      : engine_(machine, regions, options, max_threads) {}

  Status format() override { return engine_.format(); }
  Status recover(RecoveryReport& report) override { return engine_.recover(report); }
  void grown([[maybe_unused]] size_t bytes) override {
    if constexpr (requires { engine_.grown(bytes); }) {
      engine_.grown(bytes);
    }
  }
  void lend([[maybe_unused]] const Loan& loan) override {
    if constexpr (requires { engine_.lend(loan); }) {
      engine_.lend(loan);
    }
  }
  Status settle() override {
    if constexpr (requires { engine_.settle(); }) {
      return engine_.settle();
    }
    return {};
  }
  Status close() override { return engine_.close(); }
  Result<ReplayReport> replay(const ReplayOptions& options) override {
    return replay_logs(engine_, options);
  }
  using EngineHandle<M>::update;
  using EngineHandle<M>::read;
  void update(Partitions partitions, FunctionRef<void()> body, Commit commit) override {
    call_update(engine_, partitions, marked(body), commit);
  }
  void fence() override {
    if constexpr (CanLag<E>) {
      engine_.fence();
    }
  }
  Status barrier() override {
    if constexpr (CanLag<E>) {
      return engine_.barrier();
    }
    return no_barrier(E::kDescription.name);
  }
  PendingUpdates pending() override {
    if constexpr (CanLag<E>) {
      return engine_.pending();
    }
    return {};
  }
  void read(Partitions partitions, FunctionRef<void()> body) override {
    call_read(engine_, partitions, marked(body));
  }
  void have_partitions([[maybe_unused]] int count) override {
    if constexpr (HasPartitions<E>) {
      engine_.have_partitions(count);
    }
  }
  void metadata() override { use_metadata<E>(); }
  uint64_t load(const void* p, size_t bytes) override {
    switch (bytes) {
      case 1:
        return E::load(static_cast<const uint8_t*>(p));
      case 2:
        return E::load(static_cast<const uint16_t*>(p));
      case 4:
        return E::load(static_cast<const uint32_t*>(p));
      default:
        return E::load(static_cast<const uint64_t*>(p));
    }
  }
  void store(void* p, uint64_t value, size_t bytes) override {
    switch (bytes) {
      case 1:
        return E::store(static_cast<uint8_t*>(p), static_cast<uint8_t>(value));
      case 2:
        return E::store(static_cast<uint16_t*>(p), static_cast<uint16_t>(value));
      case 4:
        return E::store(static_cast<uint32_t*>(p), static_cast<uint32_t>(value));
      default:
        return E::store(static_cast<uint64_t*>(p), value);
    }
  }
  void load_range(void* to, const void* from, size_t n) override { E::load_range(to, from, n); }
  void store_range(void* to, const void* from, size_t n) override { E::store_range(to, from, n); }
  void promote(const void* p, size_t n) override { E::promote(p, n); }
  void fresh(const void* p, size_t n) override { E::fresh(p, n); }
  void released([[maybe_unused]] const void* p, [[maybe_unused]] size_t n) override {
    if constexpr (requires { E::released(p, n); }) {
      E::released(p, n);
    }
  }
  Statistics statistics() const override { return engine_.statistics(); }

 private:
  // Wraps the body so that it first stores this handle in the context that the engine chose for it.
  // AnyEngine's static functions find the handle there.
  auto marked(FunctionRef<void()>& body) {
    return [this, &body] {
      static_cast<Context*>(M::context())->handle = static_cast<EngineHandle<M>*>(this);
      body();
    };
  }

  E engine_;
};

template <class E>
  requires Engine<E>
constexpr EngineRow<typename E::Machine> any_engine_row() {
  using M = typename E::Machine;
  return {&E::kDescription,
          [](M& machine, const Regions& regions, const Options& options,
             int max_threads) -> std::unique_ptr<EngineHandle<M>> {
            return std::make_unique<EngineHandleOf<E>>(machine, regions, options, max_threads);
          },
          ReplaysLogs<E>,
          [](const HtmCapabilities& can) {
            if constexpr (requires { E::uses_hardware(can); }) {
              return E::uses_hardware(can);
            }
            return false;
          }};
}

/// The engine interface over one handle. Same contract as the engine behind it (engine.h); each
/// call costs one virtual call more.
template <class M>
class AnyEngine {
 public:
  using Machine = M;

  static Result<const Description*> describe(const std::string& name) {
    auto row = find_row("engine", name, engine_rows<M>(), Code::wrong_format);
    return row.ok() ? Result<const Description*>(row.value()->description) : row.status();
  }

  static bool uses_hardware(const std::string& name, const HtmCapabilities& can) {
    const auto row = find_row("engine", name, engine_rows<M>());
    return row.ok() && row.value()->uses_hardware(can);
  }

  static Result<std::unique_ptr<AnyEngine>> make(M& machine, const std::string& name,
                                                 const Regions& regions, const Options& options,
                                                 int max_threads) {
    for (const auto& row : engine_rows<M>()) {
      if (name == row.description->name) {
        return std::make_unique<AnyEngine>(row.make(machine, regions, options, max_threads));
      }
    }
    return describe(name).status();
  }

  explicit AnyEngine(std::unique_ptr<EngineHandle<M>> handle) : handle_(std::move(handle)) {}

  Status format() { return handle_->format(); }
  Status recover(RecoveryReport& report) { return handle_->recover(report); }
  void grown(size_t bytes) { handle_->grown(bytes); }
  void lend(const Loan& loan) { handle_->lend(loan); }
  Status settle() { return handle_->settle(); }
  Status close() { return handle_->close(); }
  Result<ReplayReport> replay(const ReplayOptions& options) { return handle_->replay(options); }
  void update(FunctionRef<void()> body, Commit commit = Commit::unsaid) {
    handle_->update(body, commit);
  }
  void update(Partitions partitions, FunctionRef<void()> body, Commit commit = Commit::unsaid) {
    handle_->update(partitions, body, commit);
  }
  void fence() { handle_->fence(); }
  Status barrier() { return handle_->barrier(); }
  PendingUpdates pending() { return handle_->pending(); }
  void read(FunctionRef<void()> body) { handle_->read(body); }
  void read(Partitions partitions, FunctionRef<void()> body) { handle_->read(partitions, body); }
  void have_partitions(int count) { handle_->have_partitions(count); }
  static void metadata() {
    if (Context* c = running()) {
      handle(c)->metadata();
    }
  }
  Statistics statistics() const { return handle_->statistics(); }

  template <Word T>
  static T load(const T* p) {
    Context* c = running();
    if (c == nullptr) {
      return M::load(p);
    }
    const uint64_t word = handle(c)->load(bytes_at(p), kBytesOf<T>);
    T value;
    std::memcpy(bytes_at(&value), &word, kBytesOf<T>);
    return value;
  }
  template <Word T>
  static void store(T* p, T value) {
    uint64_t word = 0;
    std::memcpy(&word, bytes_at(&value), kBytesOf<T>);
    handle(storing(bytes_at(p)))->store(bytes_at(p), word, kBytesOf<T>);
  }
  static void load_range(void* to, const void* from, size_t n) {
    if (Context* c = running()) {
      handle(c)->load_range(to, from, n);
    } else {
      M::copy(to, from, n);
    }
  }
  static void store_range(void* to, const void* from, size_t n) {
    handle(storing(to))->store_range(to, from, n);
  }
  static void promote(const void* p, size_t n) { handle(storing(p))->promote(p, n); }
  static void fresh(const void* p, size_t n) { handle(storing(p))->fresh(p, n); }
  static void released(const void* p, size_t n) { handle(storing(p))->released(p, n); }

 private:
  static Context* running() { return static_cast<Context*>(M::context()); }
  static EngineHandle<M>* handle(Context* c) { return static_cast<EngineHandle<M>*>(c->handle); }
  static Context* storing(const void* p) {
    Context* c = running();
    if (c == nullptr) {
      throw_stray_store(c, p);
    }
    return c;
  }

  std::unique_ptr<EngineHandle<M>> handle_;
};

}  // namespace holdfast
