// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/base/status.h"
#include "holdfast/db/slice.h"

namespace holdfast::db {

/// The outcome of a call, with LevelDB's five kinds of failure. The message says what was found and
/// what to do about it.
class Status {
 public:
  Status() = default;

  static Status OK() { return {}; }
  static Status NotFound(const Slice& message, const Slice& more = {}) {
    return {Code::not_found, message, more};
  }
  static Status Corruption(const Slice& message, const Slice& more = {}) {
    return {Code::corrupt, message, more};
  }
  static Status NotSupported(const Slice& message, const Slice& more = {}) {
    return {Code::unsupported, message, more};
  }
  static Status InvalidArgument(const Slice& message, const Slice& more = {}) {
    return {Code::invalid_argument, message, more};
  }
  static Status IOError(const Slice& message, const Slice& more = {}) {
    return {Code::io_error, message, more};
  }

  bool ok() const { return code_ == Code::ok; }
  bool IsNotFound() const { return kind() == Kind::not_found; }
  bool IsCorruption() const { return kind() == Kind::corruption; }
  bool IsIOError() const { return kind() == Kind::io_error; }
  bool IsNotSupportedError() const { return kind() == Kind::not_supported; }
  bool IsInvalidArgument() const { return kind() == Kind::invalid_argument; }

  /// "OK", or the kind and the message.
  std::string ToString() const;

  // Holdfast's own: what LevelDB's kinds do not tell apart, such as a full heap and one that is
  // open elsewhere; and the message alone.
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  enum class Kind { ok, not_found, corruption, not_supported, invalid_argument, io_error };
  Status(Code code, const Slice& message, const Slice& more);
  friend Status translated(const holdfast::Status& status);

  Kind kind() const;

  Code code_ = Code::ok;
  std::string message_;
};

/// What the layers below report, in LevelDB's terms. A full heap, log or disk is an IOError, as a
/// full disk is there.
Status translated(const holdfast::Status& status);

/// Short enough for a string without memory of its own: looking for what is not there is common.
inline Status no_such_key() {
  return Status::NotFound("no such key");
}

/// The outcome of a look-up that says whether there is a value.
inline Status answer(Result<bool> found) {
  return !found.ok() ? translated(found.status()) : *found ? Status::OK() : no_such_key();
}

}  // namespace holdfast::db
