// SPDX-License-Identifier: Apache-2.0
//
// Quadra: Efficient Algorithms for Persistent Transactional Memory (Ramalhete, Correia, Felber,
// PPoPP 2021). Two copies of a word in one line of persistent memory, as in Trinity, and one fence:
// the records of a batch say themselves whether it is durable.
//
// Area      header, base | records (common/record_table.h)
// Store     log {where, old bytes}, change the working copy. Readers are kept out.
// Commit    of a batch of updates (common/combined_engine.h): every word's record back := old,
//           number, how many records the batch has, main := new, sealed; pwb; psync.
// Recovery  only the newest batch is in doubt. If as many of its records are sealed as it has, it
//           was durable; else its records go back to `back`.
// Persists  lines of records pwb and 1 psync per batch; none per read, nor for a batch that stores
//           nothing. 2 pfence more whenever the records have run out.
//
// What is the paper's and what is ours: docs/reference/engines/quadra.md.
#pragma once

#include "holdfast/engines/parts/frame/combined_engine.h"
#include "holdfast/engines/parts/isolation/combining/exclusive_gate.h"
#include "holdfast/engines/quadra/quadra_options.h"
#include "holdfast/engines/quadra/quadra_writer.h"

namespace holdfast {

template <class M>
class Quadra : public CombinedEngine<M, ExclusiveGate<M>, quadra::Writer<M, ExclusiveGate<M>>> {
  using Base = CombinedEngine<M, ExclusiveGate<M>, quadra::Writer<M, ExclusiveGate<M>>>;

 public:
  static constexpr Description kDescription = {
      .name = "quadra",
      .title = "Quadra: old and new value in one line, one fence per batch",
      .paper = "Trinity and Quadra (PPoPP 2021)",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::working_copy,
      .needs_htm = false,
      .plain_reads = true,
      .log = "none: records with the old value",
      .fences = "1 per batch",
      .options = quadra::kOptions,
      .option_count = sizeof(quadra::kOptions) / sizeof(quadra::kOptions[0]),
      .area_bytes = &quadra::area_bytes,
  };

  /// Throws Error for options that make no sense.
  Quadra(M& machine, const Regions& regions, const Options& options, int /*max_threads*/)
      : Base(machine, regions, option_number(options, "combine", 1, 0, 1).value() == 1,
             quadra::area(options).value()) {}

  Status format() {
    return Base::on_medium([&] { this->writer_.format().check(); });
  }
  Status recover(RecoveryReport& report) {
    Status status;
    const Status medium = Base::on_medium([&] { status = this->writer_.recover(report); });
    return medium.ok() ? status : medium;
  }
  Status close() {
    return Base::on_medium([&] { this->writer_.empty_table(); });
  }
};

}  // namespace holdfast
