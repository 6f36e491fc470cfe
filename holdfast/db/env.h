// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdarg>

namespace holdfast::db {

/// LevelDB's window to the operating system, to be named and handed over. Here the machine is that
/// (holdfast/machine), and it is never asked.
class Env {
 public:
  Env() = default;
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;
  virtual ~Env();

  /// The database keeps it.
  static Env* Default();
};

/// LevelDB's taker of messages, to be derived from and handed over. Here there are none: what goes
/// wrong is in a Status.
class Logger {
 public:
  Logger() = default;
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;
  virtual ~Logger();

  virtual void Logv(const char* format, std::va_list arguments) = 0;
};

}  // namespace holdfast::db
