// SPDX-License-Identifier: Apache-2.0
//
// A small concurrent program over registers, as data, so that it can be drawn at random, made
// smaller, printed and given back on a command line.
//
//   program     = thread { "|" thread }
//   thread      = [ transaction { ";" transaction } ]
//   transaction = [ "u" | "x" ] { step }     u: an update even without a write; x: an update whose
//                                            body throws at its end, so that it is rolled back
//   step        = ( "r" | "w" | "b" ) object    read; write after a read; write blindly
//               | "s"                            scan: read all shared objects
//
//   w0 w1 ; s | w1 b2 | r0 r1
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/random.h"
#include "holdfast/base/status.h"
#include "holdfast/check/history/history.h"

namespace holdfast::check {

struct RegisterStep {
  enum class Kind : uint8_t { read, write, blind, scan };
  Kind kind = Kind::read;
  Object object = 0;
};

struct Body {
  enum class Kind : uint8_t { automatic, update, throwing };
  Kind kind = Kind::automatic;
  std::vector<RegisterStep> steps;

  /// Run by Heap::read.
  bool read_only() const;
};

struct RegisterProgram {
  std::vector<std::vector<Body>> threads;

  /// Objects that steps name: one more than the largest.
  Object objects() const;
  std::string text() const;
  /// invalid_argument says what was expected where. `most`: objects there are.
  static Result<RegisterProgram> parse(const std::string& text, Object most);
};

/// What a random program is like.
struct ProgramShape {
  int threads = 3;
  int transactions = 3;  ///< per thread
  Object shared = 4;     ///< objects everybody uses
  int writes = 2;        ///< most shared objects one update writes
  double reads = 0.35;   ///< share of read-only transactions
  double throws = 0.05;  ///< share of updates that roll back
  double blind = 0;      ///< share of writes that do not look first
  bool marks = true;     ///< each update writes an object of its own as well
};

/// The program with as much left out, transactions first, then steps, as `fails` keeps saying yes.
RegisterProgram shrink(RegisterProgram program, FunctionRef<bool(const RegisterProgram&)> fails);

RegisterProgram random_program(const ProgramShape& shape, Random& random);

}  // namespace holdfast::check
