// SPDX-License-Identifier: Apache-2.0
//
// What transactions in software have in common, whatever their algorithm: a context that may be
// doomed, the way from a Field to it, running a body, and who gives way to whom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/retry.h"
#include "holdfast/engines/parts/basics/run_body.h"

namespace holdfast {

/// A transaction that finds itself in conflict throws TransactionAbort out of its body. On the way
/// the body's destructors may still load and store, and a `catch (...)` may even go on: so it
/// remembers. Once doomed, nothing it loads needs to be consistent, its stores are dropped, and it
/// never commits.
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

/// Between two attempts. Throws MediumFailure: what the transaction ran into may be owned by one
/// that found the medium failed, and will never let go.
template <class M>
void back_off(M& machine, Backoff& backoff, uint64_t aborts) {
  if (machine.failed()) {
    throw MediumFailure(machine.failure());
  }
  M::phase(Phase::back_off);
  backoff.pause(machine, aborts);
}

/// Keeps a transaction from losing for ever. One that has aborted `patience` times takes the right
/// of way, and nobody begins another attempt until it has committed. The attempts that are running
/// then can cost it one more abort each; after that it is alone. Who waits holds nothing.
template <class M>
class RightOfWay {
 public:
  RightOfWay(M& machine, uint64_t patience)
      : machine_(machine), patience_(patience), lock_(machine) {}

  /// One transaction, over all its attempts.
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

    /// Before an attempt.
    void await() {
      if (!held_) {
        way_.lock_.await_free();
      }
    }

    /// After an attempt that was aborted and has cleaned up.
    void aborted() {
      back_off(way_.machine_, backoff_, aborts_++);
      if (aborts_ == way_.patience_) {
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

/// In place of RightOfWay where nobody may wait for another: one that was aborted pauses, for a
/// bounded time.
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

/// The static part of an engine in software: finds the transaction in M::context(), which may also
/// belong to another heap, and even to another engine: covers() needs only the common part of it.
///
/// Thread: load<T>(p), load_range(to, from, n), store<T>(p, value), store_range(to, from, n),
/// promote(p, n).
template <class M, class Thread>
class SoftwareAccess {
 public:
  template <class T>
  static T load(const T* p) {
    auto* const context = static_cast<Context*>(M::context());
    // The first byte tells: no object lies half in a heap.
    if (context == nullptr || !context->covers(p, 1)) [[unlikely]] {
      return M::load(p);
    }
    return static_cast<Thread*>(context)->load(p);
  }

  template <class T>
  static void store(T* p, T value) {
    writing(p, sizeof(T))->store(p, value);
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
    writing(to, n)->store_range(to, from, n);
  }

  static void promote(const void* p, size_t n) {
    auto* const context = static_cast<Context*>(M::context());
    if (context != nullptr && context->mode == Context::Mode::update && context->covers(p, n)) {
      static_cast<Thread*>(context)->promote(p, n);
    }
  }

  static void fresh(const void* /*p*/, size_t /*n*/) {}  // nothing is undone in place

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
