// SPDX-License-Identifier: Apache-2.0
//
// base/: small tools that all other rooms use: errors, options, look-up by name, random numbers,
// checksums. This header: errors as values (Status, Result) and as an exception (Error).
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace holdfast {

/// The kind of failure that a Status reports. Its message has the details.
enum class Code {
  ok,
  invalid_argument,  ///< the caller has asked for something impossible
  misuse,            ///< the caller has broken a rule of the programming interface
  not_found,
  already_exists,
  permission_denied,
  busy,          ///< the heap is open elsewhere, or its address is taken
  wrong_format,  ///< not a heap, a newer format, or another engine's heap
  corrupt,       ///< bytes on the medium contradict each other
  out_of_space,  ///< heap or disk is full
  too_many_threads,
  type_mismatch,  ///< a root holds another type, size or version
  io_error,       ///< the medium has failed; the heap refuses all calls until it is opened again
  unsupported,    ///< this computer or this build cannot do it
  too_large,      ///< the transaction does not fit into the engine's log; smaller ones may
};

const char* to_string(Code code);

/// Returns whether an operation failed for lack of room, which changed nothing.
inline bool lacks_room(Code code) {
  return code == Code::out_of_space || code == Code::too_large;
}

/// The outcome of an operation that is expected to fail at times. The message names the file or
/// object, the problem, and a remedy.
///
/// Cost: an ok Status is a null pointer, so returning one is free.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message, int system_error = 0)
      : failure_(new Failure{code, system_error, std::move(message)}) {}
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
  /// The errno of the system call that failed; 0 if the failure has none.
  int system_error() const { return ok() ? 0 : failure_->system_error; }
  /// "<code>: <message>", or "ok".
  std::string to_string() const;

  /// Throws Error unless ok, for callers that prefer exceptions.
  void check() const {
    if (!ok()) [[unlikely]] {
      raise();
    }
  }

 private:
  struct Failure {
    Code code;
    int system_error;
    std::string message;
  };
  [[noreturn]] void raise() const;

  std::unique_ptr<Failure> failure_;
};

/// A Status as an exception. Thrown by functions that cannot return one (a Field operator, make<T>
/// inside a transaction), and by Result::value().
class Error : public std::exception {
 public:
  explicit Error(Status status);
  const Status& status() const { return status_; }
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  Status status_;
  std::string what_;
};

/// A value, or the Status of the failure to produce it.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }

  /// The value. Throws Error if there is none, as do * and ->.
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

/// The result of a call that may fail itself and runs a body which returns R: a Status for none or
/// a Status, else a Result<R>.
template <class R>
using BodyResult =
    std::conditional_t<std::is_void_v<R> || std::is_same_v<R, Status>, Status, Result<R>>;

}  // namespace holdfast
