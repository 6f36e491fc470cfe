// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/machine.h"

#include "holdfast/base/catalogue.h"
#include "holdfast/machine/double_word.h"

namespace holdfast {

const char* to_string(Domain domain) {
  switch (domain) {
    case Domain::process:
      return "process";
    case Domain::file:
      return "file";
    case Domain::pmem:
      return "pmem";
    case Domain::eadr:
      return "eadr";
  }
  return "unknown";
}

Result<Domain> parse_domain(const std::string& name) {
  return parse_name("persistence domain", name,
                    std::array{Domain::process, Domain::file, Domain::pmem, Domain::eadr});
}

void check_nontemporal(const void* to, const void* from, size_t n) {
  if (((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | n) & 7) != 0) {
    throw Error(Status(Code::misuse,
                       "store_nontemporal copies whole 8-byte words: both addresses and the number "
                       "of bytes must be multiples of 8; use copy and pwb_range"));
  }
}

void throw_misaligned_double_word() {
  throw Error(Status(Code::misuse,
                     "a compare-exchange of 16 bytes takes an address that is a multiple of 16"));
}

const char* to_string(AbortCause cause) {
  switch (cause) {
    case AbortCause::none:
      return "none";
    case AbortCause::conflict:
      return "conflict";
    case AbortCause::capacity:
      return "capacity";
    case AbortCause::explicit_abort:
      return "explicit";
    case AbortCause::interrupt:
      return "interrupt";
    case AbortCause::other:
      return "other";
  }
  return "unknown";
}

const char* to_string(AbortCode code) {
  switch (code) {
    case AbortCode::none:
      return "none";
    case AbortCode::lock:
      return "lock";
    case AbortCode::log:
      return "log";
    case AbortCode::alias:
      return "alias";
    case AbortCode::revoked:
      return "revoked";
    case AbortCode::stale:
      return "stale";
  }
  return "unknown";
}

const char* to_string(Phase phase) {
  switch (phase) {
    case Phase::outside:
      return "outside";
    case Phase::execute:
      return "execute";
    case Phase::lock_wait:
      return "lock wait";
    case Phase::isolation_wait:
      return "isolation wait";
    case Phase::commit:
      return "commit";
    case Phase::log_flush:
      return "log flush";
    case Phase::data_flush:
      return "data flush";
    case Phase::durability_wait:
      return "durability wait";
    case Phase::marker_flush:
      return "marker flush";
    case Phase::space_wait:
      return "space wait";
    case Phase::replay:
      return "replay";
    case Phase::combine:
      return "combine";
    case Phase::copy:
      return "copy";
    case Phase::roll_back:
      return "roll back";
    case Phase::back_off:
      return "back off";
    case Phase::aborted:
      return "aborted";
  }
  return "unknown";
}

}  // namespace holdfast
