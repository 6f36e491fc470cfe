// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/htm/hardware_status.h"

namespace holdfast::native {
namespace {

AbortCause cause_of_code(uint64_t code, AbortCause foreign) {
  switch (code) {
    case kExplicitAbort:
      return AbortCause::explicit_abort;
    case kCancelAbort:
      return AbortCause::other;
    default:
      return foreign;
  }
}

}  // namespace

AbortCause rtm_cause(uint32_t eax) {
  constexpr uint32_t kAbort = 1U << 0;
  constexpr uint32_t kConflict = 1U << 2;
  constexpr uint32_t kCapacity = 1U << 3;
  constexpr int kCodeShift = 24;
  if ((eax & kAbort) != 0) {
    return cause_of_code(eax >> kCodeShift, AbortCause::other);
  }
  // Both bits may be set. Conflict comes first: a conflict may not occur again, and only a capacity
  // bit alone means that the transaction is too large.
  if ((eax & kConflict) != 0) {
    return AbortCause::conflict;
  }
  if ((eax & kCapacity) != 0) {
    return AbortCause::capacity;
  }
  // A debug trap or a nested transaction. Or no bit is set: an interrupt, a page fault, or an
  // instruction that RTM does not allow. EAX does not tell which.
  return AbortCause::other;
}

AbortCause power_cause(uint64_t texasr) {
  // The architecture numbers bits from the most significant one.
  const auto bit = [texasr](int n) { return ((texasr >> (63 - n)) & 1) != 0; };
  constexpr int kFootprintOverflow = 10;
  constexpr int kSelfInducedConflict = 11;
  constexpr int kPlainConflict = 12;
  constexpr int kTransactionConflict = 13;
  constexpr int kTranslationInvalidation = 14;
  constexpr int kAbort = 31;
  constexpr int kCodeShift = 56;
  if (bit(kAbort)) {  // tabort., by the engine, or by the kernel before it runs another thread
    return cause_of_code(texasr >> kCodeShift, AbortCause::interrupt);
  }
  if (bit(kFootprintOverflow)) {
    return AbortCause::capacity;
  }
  if (bit(kSelfInducedConflict) || bit(kPlainConflict) || bit(kTransactionConflict)) {
    return AbortCause::conflict;
  }
  return bit(kTranslationInvalidation) ? AbortCause::interrupt : AbortCause::other;
}

}  // namespace holdfast::native
