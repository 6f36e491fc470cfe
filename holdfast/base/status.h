// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace holdfast {

/// What kind of failure a Status reports; the message says the rest.
enum class Code {
  ok,
  invalid_argument,  ///< the caller asked for something that cannot be
  misuse,            ///< a rule of the programming interface was broken
  not_found,
  already_exists,
  permission_denied,
  busy,          ///< the heap is open elsewhere, or its address is taken
  wrong_format,  ///< not a heap, a newer format, or another engine's heap
  corrupt,       ///< bytes on the medium contradict each other
  out_of_space,  ///< heap, log or disk is full
  too_many_threads,
  type_mismatch,  ///< a root holds another type, size or version
  io_error,       ///< the medium failed; the heap accepts nothing more until reopened
  unsupported,    ///< this computer or this build cannot do it
};

const char* to_string(Code code);

/// The outcome of an operation that is expected to fail at times. The message names the
/// file or object, what was found, and what to do about it.
///
/// An ok status is a null pointer, so that returning one costs nothing on the hot path.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : failure_(new Failure{code, std::move(message)}) {}
  Status(const Status& o) : failure_(o.ok() ? nullptr : new Failure(*o.failure_)) {}
  Status(Status&&) = default;
  Status& operator=(const Status& o) {
    failure_.reset(o.ok() ? nullptr : new Failure(*o.failure_));
    return *this;
  }
  Status& operator=(Status&&) = default;
  ~Status() = default;

  bool ok() const { return failure_ == nullptr; }
  explicit operator bool() const { return ok(); }
  Code code() const { return ok() ? Code::ok : failure_->code; }
  const std::string& message() const;
  /// "<code>: <message>", or "ok".
  std::string to_string() const;

  /// Throws Error unless ok: for callers who prefer exceptions.
  void check() const {
    if (!ok()) [[unlikely]] {
      raise();
    }
  }

 private:
  struct Failure {
    Code code;
    std::string message;
  };
  [[noreturn]] void raise() const;

  std::unique_ptr<Failure> failure_;
};

/// A Status as an exception. Thrown where no value can be returned (a Field operator, make<T>
/// inside a transaction) and by Result::value().
class Error : public std::exception {
 public:
  explicit Error(Status status);
  const Status& status() const { return status_; }
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  Status status_;
  std::string what_;
};

/// Either a value or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }

  /// The value; throws Error when there is none.
  T& value() & {
    status_.check();
    return *value_;  // NOLINT(bugprone-unchecked-optional-access): check() throws without one
  }
  const T& value() const& {
    status_.check();
    return *value_;  // NOLINT(bugprone-unchecked-optional-access): as above
  }
  T&& value() && {
    status_.check();
    return std::move(*value_);  // NOLINT(bugprone-unchecked-optional-access): as above
  }
  T& operator*() & { return value(); }
  T* operator->() { return &value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace holdfast
