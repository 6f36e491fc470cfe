// SPDX-License-Identifier: Apache-2.0
//
// Quadra: Efficient Algorithms for Persistent Transactional Memory (Ramalhete, Correia, Felber,
// PPoPP 2021).
//
// Idea      As in Trinity, the old and the new value of a word are in one line of persistent
//           memory. One fence is enough: each record of a batch has a seal, and the number of
//           records in the batch. So the records alone tell whether the batch is durable.
// Area      header, base, entry of a large batch | records
//           (parts/durability/records/record_table.h)
// Store     log {place, old bytes}, change the working copy. Readers are kept out.
// Commit    of a batch (parts/frame/combined_engine.h): for every word's record, back := old,
//           number, number of records in the batch, main := new, sealed; pwb; psync.
// Large     A body with more words than there are records: empty the table; redo log in space lent
//           by the heap, pwb; pfence; entry, pwb; psync; words -> home, pwb; pfence; entry ends,
//           pwb; pfence (large_batch.h). Recovery finishes it if its entry is there.
// Recovery  Only the newest batch is in doubt. It was durable if all its records are sealed. Else
//           `back` of its records goes home. `main` of all other records goes home.
// Persists  pwb of the records' lines and 1 psync per batch; none per read, or for a batch that
//           stores nothing. 2 more pfence whenever the records have run out.
//
// Differences from the paper
//  - Words that transactions store to have records, in a table. The paper has a record in the place
//    of each word.
//  - The seal, the count, and the single writer are ours; see docs/reference/engines/quadra.md.
#pragma once

#include "holdfast/engines/parts/durability/replay/redo_record.h"
#include "holdfast/engines/parts/frame/combined_engine.h"
#include "holdfast/engines/parts/isolation/combining/exclusive_gate.h"
#include "holdfast/engines/quadra/quadra_options.h"
#include "holdfast/engines/quadra/quadra_writer.h"

namespace holdfast {

/// The engine; see Engine in engine.h for the contract.
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
      .answers_behind_psync = true,
      .plain_reads = true,
      .any_size = true,
      .log = "none: records with the old value",
      .fences = "1 per batch",
      .options = quadra::kOptions,
      .option_count = sizeof(quadra::kOptions) / sizeof(quadra::kOptions[0]),
      .area_bytes = &quadra::area_bytes,
      .promise = &CombinedOptions::promise,
      .most_bytes = RedoRecord::kMostBytes,
  };

  /// Throws Error for an invalid option.
  Quadra(M& machine, const Regions& regions, const Options& options, int /*max_threads*/)
      : Base(machine, regions, options, quadra::area(options).value()) {}

  Status format() {
    return Base::on_medium([&] { this->writer_.format().check(); });
  }
  Status recover(RecoveryReport& report) {
    Status status;
    const Status medium = Base::on_medium([&] { status = this->writer_.recover(report); });
    return medium.ok() ? status : medium;
  }
  void lend(const Loan& loan) { this->writer_.lend(loan); }
  Status close() {
    return Base::on_medium([&] { this->writer_.empty_table(); });
  }
};

}  // namespace holdfast
