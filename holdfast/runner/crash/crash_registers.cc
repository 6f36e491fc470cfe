// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/crash/crash_registers.h"

namespace holdfast {

const WorkloadInfo& crash_registers_info() {
  static const WorkloadInfo info{
      "registers",
      "random programs over a few words whose values name their writers",
      {{"threads", "3", "threads"},
       {"transactions", "2", "transactions per thread"},
       {"registers", "4", "words that all threads use"},
       {"boxed", "1", "of these, behind a pointer: every write allocates and frees"},
       {"writes", "2", "most words an update writes"},
       {"reads", "35", "percent of transactions that only read"},
       {"throws", "5", "percent of updates that throw at their end"},
       {"blind", "0", "percent of writes that do not read first"},
       {"durable", "0", "percent of updates with Commit::durable"},
       {"later", "0", "percent of updates with Commit::later"},
       {"fences", "0", "percent of transactions that are a fence of the heap"},
       {"marks", "1", "1: each update also writes a word of its own"},
       {"ranges", "0", "percent of updates that write ranges of a string"},
       {"pieces", "47", "pieces of the string, of 11 bytes each"},
       {"prelude", "9", "updates before, so that small logs have wrapped around"}},
      {"update", "read"}};
  return info;
}

check::RegisterShape crash_registers_shape(const Parameters& p) {
  check::RegisterShape registers;
  check::ProgramShape& shape = registers.program;
  shape.threads = static_cast<int>(p.number("threads", 1, 16));
  shape.transactions = static_cast<int>(p.number("transactions", 1, 1000));
  shape.shared = static_cast<check::Object>(p.number("registers", 1, kMostRegisters));
  shape.writes = static_cast<int>(p.number("writes", 1, 16));
  shape.reads = p.real("reads", 0, 100) / 100;
  shape.throws = p.real("throws", 0, 100) / 100;
  shape.blind = p.real("blind", 0, 100) / 100;
  shape.durable = p.real("durable", 0, 100) / 100;
  shape.later = p.real("later", 0, 100) / 100;
  shape.fences = p.real("fences", 0, 100) / 100;
  shape.marks = p.number("marks", 0, 1) == 1;
  shape.ranges = p.real("ranges", 0, 100) / 100;
  shape.pieces = static_cast<check::Object>(p.number("pieces", 1, kMostRegisters));
  registers.boxed = static_cast<check::Object>(p.number("boxed", 0, kMostRegisters));
  registers.prelude = static_cast<int>(p.number("prelude", 0, 10000));
  return registers;
}

}  // namespace holdfast
