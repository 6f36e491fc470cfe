// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/status.h"

namespace holdfast::db {

Status::Status(Kind kind, const Slice& message, const Slice& more)
    : kind_(kind), message_(message.ToString()) {
  if (!more.empty()) {
    message_ += ": " + more.ToString();
  }
}

std::string Status::ToString() const {
  switch (kind_) {
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

Status translated(const holdfast::Status& status) {
  const std::string& message = status.message();
  switch (status.code()) {
    case Code::ok:
      return Status::OK();
    case Code::not_found:
      return Status::NotFound(message);
    case Code::corrupt:
    case Code::wrong_format:
      return Status::Corruption(message);
    case Code::unsupported:
      return Status::NotSupported(message);
    case Code::invalid_argument:
    case Code::misuse:
    case Code::already_exists:
    case Code::type_mismatch:
      return Status::InvalidArgument(message);
    case Code::permission_denied:
    case Code::busy:
    case Code::out_of_space:
    case Code::too_many_threads:
    case Code::io_error:
      return Status::IOError(message);
  }
  return Status::IOError(message);
}

}  // namespace holdfast::db
