// SPDX-License-Identifier: Apache-2.0
//
// Isolation by hardware transactions: the path from a Field's load or store to the machine, for
// engines whose transactions run in hardware.
#pragma once

#include <exception>
#include <vector>

#include "holdfast/base/bytes.h"
#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/retry.h"
#include "holdfast/engines/parts/basics/run_body.h"

namespace holdfast {

/// One thread's transaction, and the memory it keeps between transactions. An engine derives its
/// own thread from it and may hide storing() and stored(), which HtmAccess calls around every
/// store.
template <class M>
struct alignas(kMaxLineBytes) HtmThread : Context {
  using Machine = M;
  enum class Path : uint8_t {
    outside,      ///< read-only: no hardware transaction, nothing tracked
    transaction,  ///< inside a hardware transaction
    locked,       ///< under the global lock, while all other transactions stand still
  };

  HtmThread(M& machine, int own_slot)
      : htm(&machine.htm(own_slot)), backoff(static_cast<uint64_t>(own_slot)) {
    slot = own_slot;
  }

  struct OldWord {
    uint64_t* at;
    uint64_t value;
  };

  Path path = Path::outside;
  typename M::HtmThread* htm;
  uint64_t stored_bytes = 0;  ///< by the body
  std::vector<OldWord> undo;  ///< locked path only
  Backoff backoff;

  void begin(Mode new_mode, Path new_path) {
    mode = new_mode;
    path = new_path;
    stored_bytes = 0;
    nested_failure = nullptr;
    undo.clear();
  }

  /// HtmAccess calls these before and after it stores n bytes at p.
  void storing(const void* /*p*/, size_t /*n*/) {}
  void stored(const void* /*p*/, size_t /*n*/) {}

  /// Saves the old values of the words under [p, p + n), because the lock gives no roll-back.
  void save(void* p, size_t n) {
    const auto first = reinterpret_cast<uintptr_t>(p) & ~uintptr_t{7};
    const auto end = reinterpret_cast<uintptr_t>(p) + n;
    for (uintptr_t at = first; at < end; at += 8) {
      auto* word = reinterpret_cast<uint64_t*>(at);
      undo.push_back({word, htm->outside_load(word)});
    }
  }

  /// Restores the saved values, newest first.
  void roll_back() {
    for (auto old = undo.rbegin(); old != undo.rend(); ++old) {
      htm->outside_store(old->at, old->value);
    }
    undo.clear();
  }
  /// Throws `why` and makes the transaction fail even if the body swallows it.
  template <class X>
  [[noreturn]] void leave_body(const X& why) {
    nested_failure = std::make_exception_ptr(why);
    throw X(why);
  }
};

/// The static functions of an engine. The transaction in M::context() may belong to another heap,
/// or even to another engine; covers() needs only the common part of it.
template <class T, Tracking kTracking>
class HtmAccess {
 public:
  using Thread = T;
  using M = typename T::Machine;
  using Path = typename T::Path;

  template <class Value>
  static Value load(const Value* p) {
    auto* const context = static_cast<Context*>(M::context());
    // The first byte decides: no object lies partly inside a heap.
    if (context == nullptr || !context->covers(bytes_at(p), 1)) [[unlikely]] {
      return M::load(p);
    }
    const auto* t = static_cast<const Thread*>(context);
    return must_have_memory(*context, [&] {
      return t->path == Path::transaction ? t->htm->load(p) : t->htm->outside_load(p);
    });
  }

  template <class Value>
  static void store(Value* p, Value value) {
    Thread* const t = writing(bytes_at(p), kBytesOf<Value>);
    t->stored_bytes += kBytesOf<Value>;
    must_have_memory(*t, [&] {
      t->storing(bytes_at(p), kBytesOf<Value>);
      if (t->path == Path::transaction) [[likely]] {
        t->htm->store(p, value);
      } else {
        t->save(bytes_at(p), kBytesOf<Value>);
        t->htm->outside_store(p, value);
      }
      t->stored(bytes_at(p), kBytesOf<Value>);
    });
  }

  static void load_range(void* to, const void* from, size_t n) {
    auto* const context = static_cast<Context*>(M::context());
    if (context == nullptr || !context->covers(from, n)) [[unlikely]] {
      M::copy(to, from, n);
      return;
    }
    const auto* t = static_cast<const Thread*>(context);
    must_have_memory(*context, [&] {
      if (t->path == Path::transaction) {
        t->htm->load_range(to, from, n);
      } else {
        t->htm->outside_load_range(to, from, n);
      }
    });
  }

  static void store_range(void* to, const void* from, size_t n) {
    Thread* const t = writing(to, n);
    if (n == 0) {
      return;
    }
    t->stored_bytes += n;
    must_have_memory(*t, [&] {
      t->storing(to, n);
      if (t->path == Path::transaction) [[likely]] {
        t->htm->store_range(to, from, n);
      } else {
        t->save(to, n);
        t->htm->outside_store_range(to, from, n);
      }
      t->stored(to, n);
    });
  }

  /// Adds the lines of [p, p + n) to the write set by storing their own content. It logs nothing:
  /// the bytes do not change, and no other thread can change them meanwhile. It does nothing where
  /// loads are tracked, and in read-only transactions, which see a snapshot.
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
        must_have_memory(*t, [&] { t->htm->store(word, t->htm->load(word)); });
      } else {
        // Dooms a committer that has the line in its write set, or waits until it has published.
        static_cast<void>(t->htm->outside_load(word));
      }
    }
  }

  static void fresh(const void* /*p*/, size_t /*n*/) {}  // of no use to a redo log

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
