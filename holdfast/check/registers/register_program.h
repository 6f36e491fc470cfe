// SPDX-License-Identifier: Apache-2.0
//
// A small concurrent program over registers, as data. So it can be drawn at random, made smaller,
// printed, and read from a command line.
//
//   program     = thread { "|" thread }
//   thread      = [ part { ";" part } ]
//   part        = transaction | "(" transaction ")" "*" count
//   transaction = [ "u" | "x" | "d" | "l" ] { step }  |  "f"
//                                            u: an update even without a write; x: an update whose
//                                            body throws at its end, so that it is rolled back;
//                                            d, l: an update with Commit::durable or Commit::later;
//                                            f: a fence of the heap
//   step        = operation [ "*" count ]
//   operation   = ( "r" | "w" | "b" ) object    read; write after a read; write blindly
//               | ( "R" | "W" | "B" ) piece [ "-" piece ]
//                                            the same with pieces of the string, first to last
//               | "s"                            scan: read all shared objects
//
// The string is a row of bytes, cut into pieces of an odd length. A step on pieces is one access to
// all their bytes, so its range has any alignment and may cross lines. Each piece names its write,
// so a judge finds each mixture of two writes.
//
//   w0 w1 ; s | w1 b2 | r0 r1 | W3-17 b0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/random.h"
#include "holdfast/base/status.h"
#include "holdfast/check/history/history.h"
#include "holdfast/engines/engine.h"

namespace holdfast::check {

/// One access of a body.
struct RegisterStep {
  enum class Kind : uint8_t { read, write, blind, scan };
  Kind kind = Kind::read;
  Object object = 0;  ///< the first piece, if the step is about pieces
  Object pieces = 0;  ///< the number of pieces; 0: the step is about an object
};

/// One transaction.
struct Body {
  enum class Kind : uint8_t { automatic, update, throwing, durable, later, fence };
  Kind kind = Kind::automatic;
  std::vector<RegisterStep> steps;

  /// Returns whether Heap::read runs the transaction, and not Heap::update.
  bool read_only() const;
  /// Returns whether a step is about pieces, so that a log may be too small for the transaction.
  bool uses_pieces() const;
  /// Returns the commit that the body asks for; durable for a fence.
  Commit commit() const;
};

/// The transactions of each thread.
struct RegisterProgram {
  std::vector<std::vector<Body>> threads;

  /// Returns the number of objects: one more than the largest that a step names.
  Object objects() const;
  /// Returns the number of pieces: one more than the largest that a step names.
  Object pieces() const;
  /// Returns the program in the grammar above.
  std::string text() const;
  /// Parses a program over `most` objects and as many pieces. invalid_argument: the message says
  /// what was expected where.
  static Result<RegisterProgram> parse(const std::string& text, Object most);
};

/// The properties of a random program.
struct ProgramShape {
  int threads = 3;
  int transactions = 3;  ///< per thread
  Object shared = 4;     ///< objects that all threads use
  int writes = 2;        ///< most shared objects that one update writes
  double reads = 0.35;   ///< share of read-only transactions
  double throws = 0.05;  ///< share of updates that roll back
  double blind = 0;      ///< share of writes that do not read first
  double durable = 0;    ///< share of updates with Commit::durable
  double later = 0;      ///< share of updates with Commit::later
  double fences = 0;     ///< share of transactions that are a fence
  bool marks = true;     ///< each update also writes an object of its own
  double ranges = 0;     ///< share of updates that write pieces, up to kMostRanges times
  Object pieces = 47;    ///< of the string; without `ranges` there is none

  static constexpr int kMostRanges = 4;
  Object string() const { return ranges > 0 ? pieces : 0; }
};

/// The properties of registers and of the random programs over them.
struct RegisterShape {
  ProgramShape program;
  /// The last so many shared objects are behind a pointer. Each write allocates a new block for
  /// the object and frees the old one.
  Object boxed = 1;
  int prelude = 9;  ///< updates before the first run, so that small logs have wrapped around
};

/// Removes transactions, then steps, then pieces of steps from the program, as long as `fails`
/// returns true for the rest.
RegisterProgram shrink(RegisterProgram program, FunctionRef<bool(const RegisterProgram&)> fails);

RegisterProgram random_program(const ProgramShape& shape, Random& random);

}  // namespace holdfast::check
