// SPDX-License-Identifier: Apache-2.0
//
// Isolation by software transactions: a context that may be doomed, the path from a Field to it,
// and the order among conflicting transactions. It does not depend on the algorithm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/retry.h"
#include "holdfast/engines/parts/basics/run_body.h"

namespace holdfast {

/// A transaction's context that remembers whether it is doomed. A transaction that detects a
/// conflict throws TransactionAbort out of its body. Meanwhile the body's destructors may still
/// load and store, and a `catch (...)` may even continue. Once doomed, its loads need not be
/// consistent, its stores are dropped, and it never commits.
struct SoftwareContext : Context {
  bool doomed = false;
  uint64_t stored_bytes = 0;  ///< by the body

  void prepare_context(Mode new_mode) {
    mode = new_mode;
    doomed = false;
    stored_bytes = 0;
    nested_failure = nullptr;
  }

  [[noreturn]] void doom() {
    doomed = true;
    throw TransactionAbort();
  }
};

/// Pauses between two attempts. Throws MediumFailure on a failed medium: the stripe that caused the
/// conflict may belong to a transaction that failed with the medium and never releases it.
template <class M>
void back_off(M& machine, Backoff& backoff, uint64_t aborts) {
  if (machine.failed()) {
    throw MediumFailure(machine.failure());
  }
  M::phase(Phase::back_off);
  backoff.pause(machine, aborts);
}

/// Guarantees progress. A transaction that has aborted `patience` times takes the right of way. No
/// thread begins another attempt until it has committed. Attempts that are already running can each
/// cost it one more abort; after that it is alone. A waiting thread holds nothing.
///
/// Thread safety: any number of Claims, each used by one thread.
template <class M>
class RightOfWay {
 public:
  RightOfWay(M& machine, uint64_t patience)
      : machine_(machine), patience_(patience), lock_(machine) {}

  /// One transaction, over all its attempts. Releases the right of way at its end.
  class Claim {
   public:
    Claim(RightOfWay& way, Backoff& backoff) : way_(way), backoff_(backoff) {}
    ~Claim() {
      if (held_) {
        way_.lock_.release();
      }
    }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

    uint64_t aborts() const { return aborts_; }
    bool held() const { return held_; }

    /// Call before an attempt.
    void await() {
      if (!held_) {
        way_.lock_.await_free();
      }
    }

    /// Call after an attempt that was aborted and has released everything.
    void aborted() {
      back_off(way_.machine_, backoff_, aborts_++);
      if (aborts_ == way_.patience_) {
        take();
      }
    }

    /// Returns whether another transaction has the right of way.
    bool must_wait() const { return !held_ && way_.lock_.held(); }

    /// Takes the right of way. Call outside attempts.
    void take() {
      if (!held_) {
        M::phase(Phase::lock_wait);
        way_.lock_.acquire();
        held_ = true;
      }
    }

   private:
    RightOfWay& way_;
    Backoff& backoff_;
    uint64_t aborts_ = 0;
    bool held_ = false;
  };

 private:
  M& machine_;
  uint64_t patience_;
  GlobalLock<M> lock_;
};

/// Replaces RightOfWay in engines where no thread may wait for another. A thread whose attempt was
/// aborted pauses for a bounded time.
template <class M>
class FreeForAll {
 public:
  explicit FreeForAll(M& machine) : machine_(machine) {}

  class Claim {
   public:
    Claim(FreeForAll& all, Backoff& backoff) : machine_(all.machine_), backoff_(backoff) {}

    uint64_t aborts() const { return aborts_; }
    bool held() const { return false; }
    void await() {}
    void aborted() { back_off(machine_, backoff_, aborts_++); }

   private:
    M& machine_;
    Backoff& backoff_;
    uint64_t aborts_ = 0;
  };

 private:
  M& machine_;
};

/// The static functions of a software engine. The transaction in M::context() may belong to another
/// heap, or even to another engine; covers() needs only the common part of it.
///
/// Thread has load<T>(p), load_range(to, from, n), store<T>(p, value), store_range(to, from, n) and
/// promote(p, n). Its loads get memory from a BodyAllocator.
template <class M, class Thread>
class SoftwareAccess {
 public:
  template <class T>
  static T load(const T* p) {
    auto* const context = static_cast<Context*>(M::context());
    // The first byte decides: no object lies partly inside a heap.
    if (context == nullptr || !context->covers(p, 1)) [[unlikely]] {
      return M::load(p);
    }
    return static_cast<Thread*>(context)->load(p);
  }

  template <class T>
  static void store(T* p, T value) {
    Thread* const t = writing(p, sizeof(T));
    must_have_memory(*t, [&] { t->store(p, value); });
  }

  static void load_range(void* to, const void* from, size_t n) {
    auto* const context = static_cast<Context*>(M::context());
    if (context == nullptr || !context->covers(from, n)) [[unlikely]] {
      M::copy(to, from, n);
      return;
    }
    static_cast<Thread*>(context)->load_range(to, from, n);
  }

  static void store_range(void* to, const void* from, size_t n) {
    Thread* const t = writing(to, n);
    must_have_memory(*t, [&] { t->store_range(to, from, n); });
  }

  static void promote(const void* p, size_t n) {
    auto* const context = static_cast<Context*>(M::context());
    if (context != nullptr && context->mode == Context::Mode::update && context->covers(p, n)) {
      must_have_memory(*context, [&] { static_cast<Thread*>(context)->promote(p, n); });
    }
  }

  static void fresh(const void* /*p*/, size_t /*n*/) {}  // of no use without undo in place

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
