// SPDX-License-Identifier: Apache-2.0
#include "holdfast/base/status.h"

namespace holdfast {

const char* to_string(Code code) {
  switch (code) {
    case Code::ok:
      return "ok";
    case Code::invalid_argument:
      return "invalid argument";
    case Code::misuse:
      return "misuse";
    case Code::not_found:
      return "not found";
    case Code::already_exists:
      return "already exists";
    case Code::permission_denied:
      return "permission denied";
    case Code::busy:
      return "busy";
    case Code::wrong_format:
      return "wrong format";
    case Code::corrupt:
      return "corrupt";
    case Code::out_of_space:
      return "out of space";
    case Code::too_many_threads:
      return "too many threads";
    case Code::type_mismatch:
      return "type mismatch";
    case Code::io_error:
      return "i/o error";
    case Code::unsupported:
      return "unsupported";
    case Code::too_large:
      return "too large";
  }
  return "unknown";
}

std::string Status::to_string() const {
  return ok() ? "ok" : std::string(holdfast::to_string(code())) + ": " + message();
}

const std::string& Status::message() const {
  static const std::string kNone;
  return ok() ? kNone : failure_->message;
}

void Status::raise() const {
  throw Error(*this);
}

Error::Error(Status status) : status_(std::move(status)), what_(status_.to_string()) {}

}  // namespace holdfast
