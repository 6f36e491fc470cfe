// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/status.h"

namespace holdfast::db {

Status::Status(Code code, const Slice& message, const Slice& more)
    : code_(code), message_(message.ToString()) {
  if (!more.empty()) {
    message_ += ": " + more.ToString();
  }
}

std::string Status::ToString() const {
  switch (kind()) {
    case Kind::ok:
      return "OK";
    case Kind::not_found:
      return "NotFound: " + message_;
    case Kind::corruption:
      return "Corruption: " + message_;
    case Kind::not_supported:
      return "Not implemented: " + message_;
    case Kind::invalid_argument:
      return "Invalid argument: " + message_;
    case Kind::io_error:
      return "IO error: " + message_;
  }
  return message_;
}

Status::Kind Status::kind() const {
  switch (code_) {
    case Code::ok:
      return Kind::ok;
    case Code::not_found:
      return Kind::not_found;
    case Code::corrupt:
    case Code::wrong_format:
      return Kind::corruption;
    case Code::unsupported:
      return Kind::not_supported;
    case Code::invalid_argument:
    case Code::misuse:
    case Code::already_exists:
    case Code::type_mismatch:
      return Kind::invalid_argument;
    case Code::permission_denied:
    case Code::busy:
    case Code::out_of_space:
    case Code::too_large:
    case Code::too_many_threads:
    case Code::io_error:
      return Kind::io_error;
  }
  return Kind::io_error;
}

Status translated(const holdfast::Status& status) {
  Status same(status.code(), status.message(), {});
  same.system_error_ = status.system_error();
  return same;
}

}  // namespace holdfast::db
