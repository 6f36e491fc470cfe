// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "holdfast/base/bytes.h"
#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/run_body.h"
#include "holdfast/engines/parts/basics/slot_statistics.h"
#include "holdfast/engines/parts/frame/combined_options.h"
#include "holdfast/engines/parts/frame/commit_position.h"
#include "holdfast/engines/parts/isolation/combining/flat_combining.h"

namespace holdfast {

/// The frame of engines with flat combining: one writer runs updates in batches, and readers run on
/// their own threads. The Romulus engines and Quadra use it. Derived adds kDescription, format(),
/// recover() and close(). See Engine in engine.h for the contract.
///
/// Gate admits readers and isolates them from the writer: see exclusive_gate.h.
///
/// Writer makes stores durable. It serves one batch at a time:
///   before_store(p), before_store_range(p, n)
///                      called before a body's store of a T, or of n > 0 bytes
///   start_body()       a body begins
///   keep()             makes the body's stores part of the batch. Returns false if the batch has
///                      no room for them. Throws Error if no batch has, LoanNeeded if no batch has
///                      without a loan, and bad_alloc; undo() is next then
///   full()             the batch takes no further body
///   undo()             undoes the body's stores
///   commit()           makes the batch durable, by CommitPosition::sync, and visible. True: call
///                      finish() next. Both fail with the medium only, so they allocate nothing
///   take_bytes()       bytes stored by kept bodies, and bytes written to persistent memory, since
///                      the last call
///   answers_early()    false; true only with a planted bug
/// and, if durability may lag,
///   must_be_durable(commit)
///                      whether an update that asks for `commit` waits for its durability
///   may_stay_open()    whether the updates kept so far may be answered before they are durable
///   leave_open()       shows the updates, and leaves them for a later commit()
template <class M, class Gate, class Writer>
class CombinedEngine {
  using Mode = Context::Mode;

 public:
  using Machine = M;
  static constexpr bool kDirectLoads = M::kDirectLoads;
  /// Readers have the data, or the writer, to themselves: Writer::keep() is true for a body that
  /// has stored nothing.
  static constexpr bool kReadsOnce = true;
  /// Where loads shift, an update returns while readers of the other copy remain.
  static constexpr bool kUpdatesAwaitOlder = !Gate::kShiftsLoads;

  CombinedEngine(const CombinedEngine&) = delete;
  CombinedEngine& operator=(const CombinedEngine&) = delete;

  void update(FunctionRef<void()> body, Commit commit = Commit::unsaid) {
    const TransactionScope<M> scope(TransactionKind::update);
    submit(own_slot(), {.body = body, .mode = Mode::update, .commit = commit, .error = nullptr});
  }

  /// See CanLag in engine.h. A durable commit of nothing, if an update waits for its durability.
  void fence() {
    if constexpr (kCanLag) {
      if (writer_.lag().pending() > 0) {
        auto nothing = [] {};
        update(nothing, Commit::durable);
      }
    }
  }

  /// See CanLag in engine.h. Code::unsupported if readers never wait.
  Status barrier() {
    if constexpr (Gate::kShiftsLoads) {
      return {Code::unsupported,
              "readers of this engine never wait, so it has no barrier; use fence(), or an engine "
              "whose readers wait"};
    } else {
      const TransactionScope<M> scope(TransactionKind::update);
      auto nothing = [] {};
      submit(own_slot(), {.body = nothing,
                          .mode = Mode::update,
                          .commit = Commit::durable,
                          .barrier = true,
                          .error = nullptr});
      return {};
    }
  }

  void read(FunctionRef<void()> body) {
    const TransactionScope<M> scope(TransactionKind::read);
    const int slot = own_slot();
    ptrdiff_t shift = 0;
    if (!gate_.enter(slot, shift)) [[unlikely]] {
      M::reach(Probe{"combined.read_by_combiner"});
      submit(slot, {.body = body, .mode = Mode::read, .error = nullptr});
      return;
    }
    // This is the hot path of the product. So nothing is constructed or destroyed, and an exception
    // costs only the thread that throws it.
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
    if (reads_await_) [[unlikely]] {
      await_seen(reader);
    }
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
    Transaction* const t = updating(bytes_at(p), kBytesOf<T>);
    must_have_memory(*t, [&] { t->writer->before_store(p); });
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
      must_have_memory(*t, [&] { t->writer->before_store_range(to, n); });
      M::copy(to, from, n);
    }
  }

  static void promote(const void* /*p*/, size_t /*n*/) {
  }  // updates are serial, so no read becomes stale
  static void fresh(const void* /*p*/, size_t /*n*/) {
  }  // the twin needs new objects like all others

  Statistics statistics() const { return statistics_.sum(); }

 protected:
  /// Throws Error for an invalid option.
  template <class... WriterArguments>
  CombinedEngine(M& machine, const Regions& regions, const Options& options,
                 WriterArguments&&... arguments)
      : machine_(machine),
        regions_(regions),
        gate_(machine, regions),
        commits_(machine),
        writer_(machine, regions, gate_, commits_, std::forward<WriterArguments>(arguments)...),
        options_(CombinedOptions::parse(options).value()),
        reads_await_(options_.readers_wait && commits_.defers()),
        combining_(machine, options_.combine),
        statistics_(machine),
        readers_(static_cast<size_t>(machine.slots())) {
    fill(update_context_, Mode::update);
    update_context_.writer = &writer_;
    for (size_t slot = 0; slot < readers_.size(); ++slot) {
      fill(readers_[slot].transaction, Mode::read);
      readers_[slot].transaction.slot = static_cast<int>(slot);
    }
  }
  ~CombinedEngine() = default;

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
  CommitPosition<M> commits_;
  Writer writer_;

 private:
  struct Transaction : Context {
    Writer* writer = nullptr;  // of an update
    ptrdiff_t shift = 0;       // from main to the copy that this transaction reads
  };
  /// A read-only transaction that runs on its own thread; one per slot.
  struct alignas(kMaxLineBytes) Reader {
    Transaction transaction;
  };
  static constexpr bool kCanLag = requires(Writer& w) { w.leave_open(); };
  using Combining = FlatCombining<M>;
  using Request = typename Combining::Request;

  static Transaction* updating(const void* p, size_t n) {
    auto* context = static_cast<Context*>(M::context());
    // A covered address belongs to this transaction's heap, hence to an engine of this type.
    if (context == nullptr || context->mode != Mode::update || !context->covers(p, n))
        [[unlikely]] {
      throw_stray_store(context, p);
    }
    return static_cast<Transaction*>(context);
  }

  /// The address at which this transaction reads the object that the program has at p. Outside of
  /// transactions, and for another heap's addresses, that is p itself.
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
    throw Error(
        Status(Code::too_many_threads,
               "all " + std::to_string(machine_.slots() - 1) +
                   " thread slots of the heap are taken; open it with a larger max_threads"));
  }

  /// Runs the body inside the context and returns the exception that left it, or null.
  static std::exception_ptr run(Transaction& t, FunctionRef<void()> body) {
    void* const outer = M::context();
    M::set_context(&t);
    std::exception_ptr error;
    try {
      body();
    } catch (...) {
      error = std::current_exception();
    }
    M::set_context(outer);
    // The exception is its caller's alone: a later request must not be the one that destroys it.
    std::exception_ptr swallowed = std::exchange(t.nested_failure, nullptr);
    return error ? error : swallowed;
  }

  void submit(int slot, Request request) {
    combining_.execute(slot, request, [&](Request& own) { serve(slot, own); });
    if (request.mode == Mode::update || options_.readers_wait) {
      await(request.position, Site{"combined.answer.durability_wait"});
    }
    count(slot, request.mode, request.error);
  }

  /// Waits before an answer that tells of commits up to this position.
  void await(uint64_t position, Site site) {
    if (position != 0) [[unlikely]] {
      commits_.await(position, site);
    }
  }

  /// Waits for the commits that a read on its own thread may have seen.
  [[gnu::noinline]] void await_seen(Reader& reader) {
    try {
      await(commits_.last(), Site{"combined.read.durability_wait"});
    } catch (const MediumFailure&) {
      reader.transaction.nested_failure = nullptr;
      throw;
    }
  }

  /// Answers the batch, whose updates have been committed.
  void answer(Request& own) {
    own.position = commits_.last();
    combining_.answer(own.position);
  }

  /// Serves one batch, under the combiner's lock.
  void serve(int slot, Request& own) {
    update_context_.slot = slot;
    durable_ = later_ = barrier_ = false;
    run_request(own);
    M::phase(holdfast::Phase::combine);
    combining_.take_others(slot, [&](Request& other) { run_request(other); });
    if (writer_.answers_early()) {
      combining_.answer(0);
    }
    if constexpr (kCanLag) {
      if (!durable_ && writer_.may_stay_open()) {
        writer_.leave_open();
        combining_.answer(0);
        return;
      }
    }
    const bool committed = writer_.commit();
    if constexpr (kCanLag) {
      if (later_ && !durable_ && !barrier_ && writer_.may_answer_on_the_way()) {
        combining_.answer(0);
        finish(slot, committed);
        return;
      }
    }
    if (barrier_) [[unlikely]] {
      finish(slot, committed);
      // Updates are kept out by the combiner's lock.
      gate_.before_stores();
      gate_.finished();
      answer(own);
      return;
    }
    answer(own);
    finish(slot, committed);
  }

  void finish(int slot, bool committed) {
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
    // If the batch is full, it becomes durable. Its requesters get their answers with the next one.
    while (!run_in_batch(request)) {
      finish(update_context_.slot, writer_.commit());
    }
    if (writer_.full()) [[unlikely]] {
      finish(update_context_.slot, writer_.commit());
    }
  }

  /// Returns false if the request must be tried again in an empty batch.
  bool run_in_batch(Request& request) {
    update_context_.mode = request.mode;
    writer_.start_body();
    request.error = run(update_context_, request.body);
    if (!request.error) [[likely]] {
      try {
        if (writer_.keep()) [[likely]] {
          note_kept(request);
          return true;
        }
      } catch (const MediumFailure&) {
        throw;
      } catch (...) {
        request.error = std::current_exception();
      }
    } else if (machine_.failed()) {
      // Undoing would store to the medium, whose content is unknown. A body that swallowed the
      // failure ends at the batch's next fence.
      throw MediumFailure(machine_.failure());
    }
    M::reach(Probe{"combined.undo"});
    writer_.undo();
    return request.error != nullptr;
  }

  /// Notes how the batch of a kept update has to end.
  void note_kept(const Request& request) {
    if constexpr (kCanLag) {
      if (request.mode == Mode::update) {
        const bool durable = writer_.must_be_durable(request.commit);
        durable_ = durable_ || durable;
        later_ = later_ || !durable;
      }
    }
    barrier_ = barrier_ || request.barrier;
  }

  /// Counts the outcome and rethrows the body's exception to its caller.
  void count(int slot, Mode mode, const std::exception_ptr& error) {
    auto& s = statistics_.at(slot);
    if (error) [[unlikely]] {
      s.user_aborts += 1;
      std::rethrow_exception(error);
    }
    (mode == Mode::update ? s.update_commits : s.read_commits) += 1;
  }

  const CombinedOptions options_;
  const bool reads_await_;  // reads on their own threads wait until what they saw is durable
  Combining combining_;
  bool durable_ = false;        // the running batch has an update that waits for its durability
  bool later_ = false;          // the running batch has an update that does not
  bool barrier_ = false;        // the running batch has a barrier
  Transaction update_context_;  // of the body that the combiner is running
  SlotStatistics<M> statistics_;
  std::vector<Reader> readers_;
};

}  // namespace holdfast
