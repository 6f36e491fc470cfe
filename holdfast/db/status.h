// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/base/status.h"
#include "holdfast/db/slice.h"

namespace holdfast::db {

/// The outcome of a call: ok, or one of LevelDB's five kinds of failure with a message. The message
/// says what was found and what to do about it.
///
/// Thread safety: const functions may run concurrently with each other.
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

  // code, message and system_error are Holdfast's own. The code is finer than LevelDB's kinds: a
  // full heap and a heap that is open elsewhere are both IOError there.
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  /// The errno of the system call that failed; 0 if the failure has none.
  int system_error() const { return system_error_; }

 private:
  enum class Kind { ok, not_found, corruption, not_supported, invalid_argument, io_error };
  Status(Code code, const Slice& message, const Slice& more);
  friend Status translated(const holdfast::Status& status);

  Kind kind() const;

  Code code_ = Code::ok;
  int system_error_ = 0;
  std::string message_;
};

/// Converts the status of a lower layer. A full heap, log or disk becomes an IOError, as LevelDB
/// reports a full disk.
Status translated(const holdfast::Status& status);

/// The message is short enough to need no allocation, because look-ups of missing keys are common.
inline Status no_such_key() {
  return Status::NotFound("no such key");
}

/// Converts the result of a look-up: false, for no value, becomes NotFound.
inline Status answer(Result<bool> found) {
  return !found.ok() ? translated(found.status()) : *found ? Status::OK() : no_such_key();
}

}  // namespace holdfast::db
