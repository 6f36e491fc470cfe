// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/htm/hardware_status.h"

namespace holdfast::native {
namespace {

constexpr int kRtmCodeShift = 24;
constexpr int kPowerCodeShift = 56;

bool is_own(uint64_t code) {
  return code >= status_code(AbortCode::none) && code % 2 == 0 &&
         code < status_code(AbortCode::none) + 2 * kAbortCodes;
}

AbortCode own_code(uint64_t code) {
  return is_own(code) ? static_cast<AbortCode>((code - status_code(AbortCode::none)) / 2)
                      : AbortCode::none;
}

AbortCause cause_of_code(uint64_t code, AbortCause foreign) {
  if (is_own(code)) {
    return AbortCause::explicit_abort;
  }
  return code == kCancelAbort ? AbortCause::other : foreign;
}

}  // namespace

AbortCause rtm_cause(uint32_t eax) {
  constexpr uint32_t kAbort = 1U << 0;
  constexpr uint32_t kConflict = 1U << 2;
  constexpr uint32_t kCapacity = 1U << 3;
  if ((eax & kAbort) != 0) {
    return cause_of_code(eax >> kRtmCodeShift, AbortCause::other);
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

AbortCode rtm_code(uint32_t eax) {
  return own_code(eax >> kRtmCodeShift);
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
  if (bit(kAbort)) {  // tabort., by the engine, or by the kernel before it runs another thread
    return cause_of_code(texasr >> kPowerCodeShift, AbortCause::interrupt);
  }
  if (bit(kFootprintOverflow)) {
    return AbortCause::capacity;
  }
  if (bit(kSelfInducedConflict) || bit(kPlainConflict) || bit(kTransactionConflict)) {
    return AbortCause::conflict;
  }
  return bit(kTranslationInvalidation) ? AbortCause::interrupt : AbortCause::other;
}

AbortCode power_code(uint64_t texasr) {
  return own_code(texasr >> kPowerCodeShift);
}

}  // namespace holdfast::native
