// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "holdfast/engines/common/flat_combining.h"
#include "holdfast/engines/common/slot_statistics.h"
#include "holdfast/engines/romulus/gates.h"
#include "holdfast/engines/romulus/writer.h"

namespace holdfast::romulus {

/// Shared by the three engines.
inline constexpr OptionInfo kOptions[] = {
    {"combine", "1",
     "0: every thread runs its own updates; 1: one thread runs those of all that wait"}};

inline Result<size_t> area_bytes(const Options& options, int /*max_threads*/) {
  const auto combine = option_number(options, "combine", 1, 0, 1);
  return combine.ok() ? Result<size_t>(kPageBytes) : Result<size_t>(combine.status());
}

/// The three Romulus engines; see romulus.h. A Variant says what is different: kDescription,
/// kFullCopy, and Gate<M>.
template <class M, class Variant>
class RomulusEngine {
  using Gate = typename Variant::template Gate<M>;
  using WriterOf = Writer<M, Gate>;
  using Mode = Context::Mode;

 public:
  using Machine = M;
  static constexpr Description kDescription = Variant::kDescription;

  RomulusEngine(M& machine, const Regions& regions, const Options& options, int /*max_threads*/)
      : machine_(machine),
        regions_(regions),
        gate_(machine, regions),
        writer_(machine, regions, gate_, Variant::kFullCopy),
        combining_(machine, option_number(options, "combine", 1, 0, 1).value() == 1),
        statistics_(machine),
        readers_(static_cast<size_t>(machine.slots())) {
    fill(update_context_, Mode::update);
    update_context_.writer = &writer_;
    for (size_t slot = 0; slot < readers_.size(); ++slot) {
      fill(readers_[slot].transaction, Mode::read);
      readers_[slot].transaction.slot = static_cast<int>(slot);
    }
  }
  RomulusEngine(const RomulusEngine&) = delete;
  RomulusEngine& operator=(const RomulusEngine&) = delete;

  Status format() {
    return on_medium([&] { writer_.twin().format(); });
  }

  Status recover(RecoveryReport& report) {
    Status status;
    const Status medium = on_medium([&] { status = writer_.recover(report); });
    return medium.ok() ? status : medium;
  }

  /// Nothing to do: new bytes are zero in both copies, and `used` grows with the stores.
  void grown(size_t /*bytes*/) {}

  Status close() {
    return on_medium([&] { writer_.twin().finish(); });
  }

  /// Whether main and twin are the same byte for byte, as they must be when no transaction runs.
  Status compare_copies() {
    const uint64_t at = writer_.twin().first_difference(regions_.bytes);
    return at == regions_.bytes
               ? Status()
               : Status(Code::corrupt,
                        "the two copies of the data differ at offset " + std::to_string(at));
  }

  void update(FunctionRef<void()> body) {
    const TransactionScope<M> scope(TransactionKind::update);
    submit(own_slot(), body, Mode::update);
  }

  void read(FunctionRef<void()> body) {
    const TransactionScope<M> scope(TransactionKind::read);
    const int slot = own_slot();
    ptrdiff_t shift = 0;
    if (!gate_.enter(slot, shift)) [[unlikely]] {
      submit(slot, body, Mode::read);
      return;
    }
    // The hot path of the product: nothing is built or torn down, and an exception costs only who
    // throws.
    Reader& reader = readers_[static_cast<size_t>(slot)];
    reader.transaction.shift = shift;
    void* const outer = M::context();
    M::set_context(&reader.transaction);
    try {
      body();
    } catch (...) {
      reader.transaction.nested_failure = std::current_exception();
    }
    M::set_context(outer);
    gate_.leave(slot);
    if (reader.transaction.nested_failure) [[unlikely]] {
      count(slot, Mode::read, std::exchange(reader.transaction.nested_failure, nullptr));
    }
    statistics_.at(slot).read_commits += 1;
  }

  template <class T>
  static T load(const T* p) {
    if constexpr (Gate::kShiftsLoads) {
      p = shifted(p);
    }
    return M::load(p);
  }

  template <class T>
  static void store(T* p, T value) {
    updating(p, sizeof(T))->writer->before_store(p);
    M::store(p, value);
  }

  static void load_range(void* to, const void* from, size_t n) {
    if constexpr (Gate::kShiftsLoads) {
      from = shifted(static_cast<const std::byte*>(from));
    }
    M::copy(to, from, n);
  }

  static void store_range(void* to, const void* from, size_t n) {
    Transaction* t = updating(to, n);
    if (n != 0) {
      t->writer->before_store_range(to, n);
      M::copy(to, from, n);
    }
  }

  static void promote(const void* /*p*/, size_t /*n*/) {
  }  // updates are serial, nothing can be overtaken
  static void fresh(const void* /*p*/, size_t /*n*/) {
  }  // the twin needs new objects like any others

  Statistics statistics() const { return statistics_.sum(); }

 private:
  struct Transaction : Context {
    WriterOf* writer = nullptr;  // of updates
    ptrdiff_t shift = 0;         // from main to the copy this transaction reads
  };
  /// Of a read-only transaction that runs on its own thread; one per slot.
  struct alignas(2 * kLineBytes) Reader {
    Transaction transaction;
  };
  using Combining = FlatCombining<M>;
  using Request = typename Combining::Request;

  static Transaction* updating(const void* p, size_t n) {
    auto* context = static_cast<Context*>(M::context());
    // Covered means: of the heap that owns the address, hence of an engine of this type.
    if (context == nullptr || context->mode != Mode::update || !context->covers(p, n))
        [[unlikely]] {
      throw_stray_store(context, p);
    }
    return static_cast<Transaction*>(context);
  }

  /// Where this transaction finds what the program knows at p. Outside transactions, and for
  /// another heap's addresses, that is p.
  template <class T>
  static const T* shifted(const T* p) {
    auto* context = static_cast<Context*>(M::context());
    if (context == nullptr || !context->covers(p, 1)) {
      return p;
    }
    const auto address = reinterpret_cast<uintptr_t>(p);
    return reinterpret_cast<const T*>(
        address + static_cast<uintptr_t>(static_cast<Transaction*>(context)->shift));
  }

  void fill(Transaction& t, Mode mode) {
    t.data = regions_.data;
    t.capacity = regions_.capacity;
    t.mode = mode;
  }

  int own_slot() {
    const int slot = machine_.self();
    if (slot < 0) [[unlikely]] {
      throw_no_slot();
    }
    return slot;
  }

  [[noreturn]] void throw_no_slot() const {
    throw Error(Status(Code::too_many_threads,
                       "all " + std::to_string(machine_.slots()) +
                           " thread slots of the heap are taken; create it with more"));
  }

  /// Runs the body inside the context and returns what left it, if anything.
  static std::exception_ptr run(Transaction& t, FunctionRef<void()> body) {
    t.nested_failure = nullptr;
    void* const outer = M::context();
    M::set_context(&t);
    std::exception_ptr error;
    try {
      body();
    } catch (...) {
      error = std::current_exception();
    }
    M::set_context(outer);
    return error ? error : std::move(t.nested_failure);
  }

  void submit(int slot, FunctionRef<void()> body, Mode mode) {
    Request request{.body = body, .mode = mode, .error = nullptr};
    combining_.execute(slot, request, [&](Request& own) { serve(slot, own); });
    count(slot, mode, request.error);
  }

  /// One batch, under the combiner's lock.
  void serve(int slot, Request& own) {
    update_context_.slot = slot;
    run_request(own);
    M::phase(holdfast::Phase::combine);
    combining_.take_others(slot, [&](Request& other) { run_request(other); });
    if (machine_.skips(Site{"romulus.answer"})) {
      combining_.answer();
    }
    const bool committed = writer_.commit();
    combining_.answer();
    if (committed) {
      writer_.finish();
      statistics_.at(slot).batches += 1;
    }
    const auto [stored, written] = writer_.take_bytes();
    if (written != 0) {
      statistics_.at(slot).bytes_stored += stored;
      statistics_.at(slot).bytes_written += written;
    }
  }

  void run_request(Request& request) {
    update_context_.mode = request.mode;
    writer_.start_body();
    request.error = run(update_context_, request.body);
    if (request.error) [[unlikely]] {
      if (machine_.failed()) {
        // Undoing would store. A body that swallowed the failure ends at the batch's next fence.
        throw MediumFailure(machine_.failure());
      }
      writer_.undo();
    } else {
      writer_.keep();
    }
  }

  /// Counts the outcome and passes the body's exception on to its caller.
  void count(int slot, Mode mode, const std::exception_ptr& error) {
    auto& s = statistics_.at(slot);
    if (error) [[unlikely]] {
      s.user_aborts += 1;
      std::rethrow_exception(error);
    }
    (mode == Mode::update ? s.update_commits : s.read_commits) += 1;
  }

  template <class F>
  static Status on_medium(F&& work) {
    try {
      work();
    } catch (const MediumFailure& failure) {
      return failure.status();
    }
    return {};
  }

  M& machine_;
  const Regions regions_;
  Gate gate_;
  WriterOf writer_;
  Combining combining_;
  Transaction update_context_;  // of whichever body the combiner is running
  SlotStatistics<M> statistics_;
  std::vector<Reader> readers_;
};

}  // namespace holdfast::romulus
