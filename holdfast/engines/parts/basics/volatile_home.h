// SPDX-License-Identifier: Apache-2.0
//
// The home of a heap whose engine promises nothing after a crash (Layout::working_copy).
//
// Transactions change only the working copy; a clean close brings the home up to date. A crash
// therefore returns the heap to its last clean close, whole. Only a crash during a close leaves a
// mixture, which the next open refuses.
//
//   area   one word: new, clean, or saving
//   close  store `saving`, pwb, pfence; copy differing lines to the home, pwb; pfence;
//          store `clean`, pwb, psync
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "holdfast/engines/engine.h"

namespace holdfast {

/// The home's side of such an engine. For one thread, while no transaction runs.
template <class M>
class VolatileHome {
 public:
  static constexpr size_t kAreaBytes = kPageBytes;

  VolatileHome(M& machine, const Regions& regions) : machine_(machine), regions_(regions) {}

  Status format() {
    set_state(kNew);
    // The initial state is durable before the first transaction.
    machine_.psync(Site{"volatile.format.sync"});
    created_ = true;
    return {};
  }

  Status recover() const {
    switch (M::load(state_word())) {
      case kClean:
        return {};
      case kNew:
        return created_ ? Status()
                        : Status(Code::corrupt,
                                 "the machine stopped before the heap was closed for the first "
                                 "time, and its engine keeps nothing over a crash; create it "
                                 "anew, and choose a durable engine");
      case kSaving:
        return {Code::corrupt,
                "the machine stopped while the heap was being closed, and its engine keeps nothing "
                "over a crash; restore the file from a copy, and choose a durable engine"};
      default:
        return {Code::corrupt,
                "the engine area does not belong to an engine without durability; it is damaged"};
    }
  }

  void grown(size_t bytes) { regions_.bytes = bytes; }

  /// Copies each line of the working copy that differs to the home. Durable at return; costs a
  /// comparison of the whole heap.
  Status save() {
    set_state(kSaving);
    // Separates `saving` from the first store to the home.
    machine_.pfence(Site{"volatile.saving.fence"});
    const size_t line = machine_.line_bytes();
    for (size_t at = 0; at < regions_.bytes; at += line) {
      if (differs(at, line)) {
        M::copy(regions_.home + at, regions_.data + at, line);
        machine_.pwb(regions_.home + at, Site{"volatile.home"});
      }
    }
    // Separates the home from `clean`: the home is durable before the word says so.
    machine_.pfence(Site{"volatile.home.fence"});
    set_state(kClean);
    // Separates `clean` from the return.
    machine_.psync(Site{"volatile.clean.sync"});
    return {};
  }

 private:
  static constexpr uint64_t kNew = 0x315f5f77654e6648;     // "HfNew__1"
  static constexpr uint64_t kClean = 0x316e61656c436648;   // "HfClean1"
  static constexpr uint64_t kSaving = 0x31676e6976615368;  // "hSaving1"

  uint64_t* state_word() const { return reinterpret_cast<uint64_t*>(regions_.area); }

  void set_state(uint64_t state) {
    M::store(state_word(), state);
    machine_.pwb(state_word(), Site{"volatile.state"});
  }

  bool differs(size_t at, size_t n) const {
    for (size_t i = at; i < at + n; i += sizeof(uint64_t)) {
      if (M::load(reinterpret_cast<const uint64_t*>(regions_.data + i)) !=
          M::load(reinterpret_cast<const uint64_t*>(regions_.home + i))) {
        return true;
      }
    }
    return false;
  }

  M& machine_;
  Regions regions_;
  bool created_ = false;  // this object formatted the heap, so the home holds nothing yet
};

}  // namespace holdfast
