// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/machine.h"

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
  for (const Domain domain : {Domain::process, Domain::file, Domain::pmem, Domain::eadr}) {
    if (name == to_string(domain)) {
      return domain;
    }
  }
  return Status(Code::invalid_argument,
                "no persistence domain '" + name + "'; there are process, file, pmem, eadr");
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

}  // namespace holdfast
