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
    return {Kind::not_found, message, more};
  }
  static Status Corruption(const Slice& message, const Slice& more = {}) {
    return {Kind::corruption, message, more};
  }
  static Status NotSupported(const Slice& message, const Slice& more = {}) {
    return {Kind::not_supported, message, more};
  }
  static Status InvalidArgument(const Slice& message, const Slice& more = {}) {
    return {Kind::invalid_argument, message, more};
  }
  static Status IOError(const Slice& message, const Slice& more = {}) {
    return {Kind::io_error, message, more};
  }

  bool ok() const { return kind_ == Kind::ok; }
  bool IsNotFound() const { return kind_ == Kind::not_found; }
  bool IsCorruption() const { return kind_ == Kind::corruption; }
  bool IsIOError() const { return kind_ == Kind::io_error; }
  bool IsNotSupportedError() const { return kind_ == Kind::not_supported; }
  bool IsInvalidArgument() const { return kind_ == Kind::invalid_argument; }

  /// "OK", or the kind and the message.
  std::string ToString() const;

 private:
  enum class Kind { ok, not_found, corruption, not_supported, invalid_argument, io_error };
  Status(Kind kind, const Slice& message, const Slice& more);

  Kind kind_ = Kind::ok;
  std::string message_;
};

/// What the layers below report, in LevelDB's terms. A full heap, log or disk is an IOError, as a
/// full disk is there.
Status translated(const holdfast::Status& status);

}  // namespace holdfast::db
