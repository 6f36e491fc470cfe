// SPDX-License-Identifier: Apache-2.0
// Format and recovery of Mnemosyne; included by mnemosyne.h.
#pragma once

namespace holdfast {

template <class M>
Status Mnemosyne<M>::format() {
  M& machine = this->machine_;
  uint64_t words[StampedLogsArea::kHeaderWords];
  area_.header(options_.magic(), words);
  M::copy(regions_.area, words, sizeof(words));
  machine.pwb(regions_.area, Site{"mnemosyne.format"});
  with_log([](auto& log) { log.format(); });
  // The initial state is durable before the first transaction.
  machine.psync(Site{"mnemosyne.format.sync"});
  return {};
}

template <class M>
Status Mnemosyne<M>::check(const std::vector<mnemosyne::CommittedBlock>& found) const {
  for (const mnemosyne::CommittedBlock& one : found) {
    bool inside = true;
    const bool whole = for_each_block_record(one.words, [&](RedoRecord record, const uint64_t*) {
      inside = inside && record.offset < regions_.bytes &&
               record.bytes <= regions_.bytes - record.offset;
    });
    if (!whole || !inside) {
      return {Code::corrupt, "the transaction in log " + std::to_string(one.slot) +
                                 " stores outside the heap's data; the heap was left as it is, "
                                 "restore it from a copy"};
    }
  }
  return {};
}

template <class M>
Status Mnemosyne<M>::recover(RecoveryReport& report) {
  const PhaseScope<M> scope(Phase::replay);
  M& machine = this->machine_;
  uint64_t expected[StampedLogsArea::kHeaderWords];
  uint64_t header[StampedLogsArea::kHeaderWords];
  area_.header(options_.magic(), expected);
  M::copy(header, regions_.area, sizeof(header));
  if (!std::equal(std::begin(expected), std::end(expected), std::begin(header))) {
    return {Code::corrupt,
            "the header of the engine area does not fit engine mnemosyne with these options; it is "
            "damaged, or the options differ from those at creation"};
  }
  std::vector<mnemosyne::CommittedBlock> found;
  Status status = with_log([&](auto& log) { return log.find(found); });
  if (status.ok()) {
    status = check(found);
  }
  if (!status.ok()) {
    return status;
  }
  // Only stores from here on.
  if (!machine.skips(Site{"mnemosyne.recover.sort"})) {
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.time < b.time; });
  }
  for (const mnemosyne::CommittedBlock& one : found) {
    for_each_block_record(one.words, [&](RedoRecord record, const uint64_t* payload) {
      std::byte* const to = regions_.data + record.offset;
      M::copy(to, payload, record.bytes);
      machine.pwb_range(to, record.bytes, Site{"mnemosyne.recover.home"});
      report.bytes += record.bytes;
    });
  }
  if (found.size() > 1) {
    M::reach(Probe{"mnemosyne.recover.several"});
  }
  if (!found.empty()) {
    // Separates the data from the truncations: the data is durable before it leaves the logs.
    machine.pfence(Site{"mnemosyne.recover.home.fence"});
    this->clock_->now.store(found.back().time);
  }
  with_log([&](auto& log) { log.truncate_all(found); });
  report.transactions = found.size();
  report.needed = !found.empty();
  report.text = "replayed " + std::to_string(found.size()) + " transactions from the logs";
  return {};
}

}  // namespace holdfast
