// SPDX-License-Identifier: Apache-2.0
//
// What a Field does under FUR: the path from a load or store of the application to the machine.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "holdfast/engines/common/redo_log.h"
#include "holdfast/engines/common/retry.h"
#include "holdfast/engines/engine.h"

namespace holdfast {

/// One thread's transaction, and what it keeps between transactions.
template <class M>
struct alignas(2 * kLineBytes) FurThread : Context {
  enum class Path : uint8_t {
    outside,      ///< read-only: no hardware transaction, nothing tracked
    transaction,  ///< inside a hardware transaction
    locked,       ///< under the global lock, everybody else stands still
  };
  struct OldWord {
    uint64_t* at;
    uint64_t value;
  };

  FurThread(M& machine, const RedoLog<M>& redo_log, int own_slot, int slots)
      : htm(&machine.htm(own_slot)),
        redo(redo_log),
        backoff(static_cast<uint64_t>(own_slot)),
        scratch(static_cast<size_t>(slots)) {
    slot = own_slot;
  }

  Path path = Path::outside;
  typename M::HtmThread* htm;
  VolatileLog log;  ///< where the transaction has stored
  RedoLog<M> redo;
  uint64_t stored_bytes = 0;     ///< by the body
  uint64_t number = 0;           ///< durTS, or 0
  bool log_full = false;         ///< locked path: the rest of the log has to be freed first
  std::vector<OldWord> undo;     ///< locked path only
  std::vector<uint64_t> staged;  ///< the transaction's records, on their way to the redo log
  Backoff backoff;
  std::vector<uint64_t> scratch;

  void prepare(Mode new_mode, Path new_path) {
    mode = new_mode;
    path = new_path;
    stored_bytes = 0;
    number = 0;
    log_full = false;
    nested_failure = nullptr;
    undo.clear();
    log.begin(new_mode == Mode::update ? redo.room() : 0);
  }

  /// Notes a store that is about to happen.
  void note(const void* p, size_t n) {
    stored_bytes += n;
    const auto offset = static_cast<uint64_t>(static_cast<const std::byte*>(p) - data);
    if (log.add(offset, n) == VolatileLog::Outcome::full) [[unlikely]] {
      overflow();
    }
  }

  /// Keeps the old values of the words under [p, p + n): the lock gives no rollback.
  void save(void* p, size_t n) {
    const auto first = reinterpret_cast<uintptr_t>(p) & ~uintptr_t{7};
    const auto end = reinterpret_cast<uintptr_t>(p) + n;
    for (uintptr_t at = first; at < end; at += 8) {
      auto* word = reinterpret_cast<uint64_t*>(at);
      undo.push_back({word, htm->outside_load(word)});
    }
  }

 private:
  struct LogFull {};

  void overflow() {
    if (log.limit() < redo.size()) {  // the next attempt will have the whole log
      if (path == Path::transaction) {
        htm->abort();
      }
      log_full = true;
      leave_body(LogFull());
    }
    leave_body(Error(Status(
        Code::out_of_space,
        "the transaction stores more than its redo log holds (" + std::to_string(redo.size()) +
            " bytes); create the heap with a larger log_bytes, or split the transaction")));
  }

  /// Fails the transaction even if the body goes on.
  template <class X>
  [[noreturn]] void leave_body(const X& why) {
    nested_failure = std::make_exception_ptr(why);
    throw X(why);
  }
};

/// The static part of the engine. The transaction is found in M::context(), which may also belong
/// to another heap, and even to another engine: covers() needs only the common part of it.
template <class M, Tracking kTracking>
class FurAccess {
 public:
  using Thread = FurThread<M>;
  using Path = typename Thread::Path;

  template <class T>
  static T load(const T* p) {
    const auto* context = static_cast<const Context*>(M::context());
    // The first byte tells: no object lies half in a heap.
    if (context == nullptr || !context->covers(p, 1)) [[unlikely]] {
      return M::load(p);
    }
    const auto* t = static_cast<const Thread*>(context);
    return t->path == Path::transaction ? t->htm->load(p) : t->htm->outside_load(p);
  }

  template <class T>
  static void store(T* p, T value) {
    Thread* const t = writing(p, sizeof(T));
    if (t->path == Path::transaction) [[likely]] {
      t->note(p, sizeof(T));
      t->htm->store(p, value);
    } else {
      t->note(p, sizeof(T));
      t->save(p, sizeof(T));
      t->htm->outside_store(p, value);
    }
  }

  static void load_range(void* to, const void* from, size_t n) {
    const auto* context = static_cast<const Context*>(M::context());
    if (context == nullptr || !context->covers(from, n)) [[unlikely]] {
      M::copy(to, from, n);
      return;
    }
    const auto* t = static_cast<const Thread*>(context);
    if (t->path == Path::transaction) {
      t->htm->load_range(to, from, n);
    } else {
      t->htm->outside_load_range(to, from, n);
    }
  }

  static void store_range(void* to, const void* from, size_t n) {
    Thread* const t = writing(to, n);
    if (n == 0) {
      return;
    }
    t->note(to, n);
    if (t->path == Path::transaction) [[likely]] {
      t->htm->store_range(to, from, n);
    } else {
      t->save(to, n);
      t->htm->outside_store_range(to, from, n);
    }
  }

  /// Puts the lines of [p, p + n) into the write set by storing what is there. Nothing is logged:
  /// the bytes do not change, and nobody else can change them meanwhile. Where loads are tracked,
  /// and in read-only transactions, which see a snapshot, there is nothing to do.
  static void promote(const void* p, size_t n) {
    auto* const context = static_cast<Context*>(M::context());
    if (kTracking == Tracking::all || n == 0 || context == nullptr ||
        context->mode != Context::Mode::update || !context->covers(p, n)) {
      return;
    }
    auto* const t = static_cast<Thread*>(context);
    const auto end = reinterpret_cast<uintptr_t>(p) + n;
    for (auto at = reinterpret_cast<uintptr_t>(p) & ~uintptr_t{7}; at < end;
         at = (at & ~uintptr_t{kLineBytes - 1}) + kLineBytes) {
      auto* const word = reinterpret_cast<uint64_t*>(at);
      if (t->path == Path::transaction) {
        t->htm->store(word, t->htm->load(word));
      } else {
        // Dooms a committer that has the line in its write set, or waits until it has published.
        static_cast<void>(t->htm->outside_load(word));
      }
    }
  }

  static void fresh(const void* /*p*/, size_t /*n*/) {}  // a redo log has no use for it

 private:
  static Thread* writing(const void* p, size_t n) {
    auto* const context = static_cast<Context*>(M::context());
    if (context == nullptr || context->mode != Context::Mode::update || !context->covers(p, n))
        [[unlikely]] {
      throw_stray_store(context, p);
    }
    return static_cast<Thread*>(context);
  }
};

}  // namespace holdfast
