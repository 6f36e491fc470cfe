// SPDX-License-Identifier: Apache-2.0
// Brings words home from a RecordTable, in operation and in recovery; included by record_table.h.
#pragma once

namespace holdfast {

template <class M>
Status RecordTable<M>::format() {
  const AreaHeader header = area_.header(magic_);
  M::copy(regions_.area, header.data(), sizeof(header));
  machine_.pwb(regions_.area, Site{"records.format"});
  M::store(base(), encode_tail(0));
  machine_.pwb(base(), Site{"records.format"});
  for (int i = 0; i < area_.marks; ++i) {
    M::store(mark(i), encode_tail(0));
    machine_.pwb(mark(i), Site{"records.format"});
  }
  // The initial state is durable before the first transaction.
  machine_.psync(Site{"records.format.sync"});
  return {};
}

template <class M>
uint64_t RecordTable<M>::empty(uint64_t upto) {
  const PhaseScope<M> scope(Phase::replay);
  // Relaxed, all: no other thread uses the table now, and the caller has waited for those that did.
  const uint64_t used = std::min(used_->count.load(std::memory_order_relaxed), size());
  uint64_t bytes = 0;
  for (uint64_t record = 0; record < used; ++record) {
    const uint64_t link = links_[record].load(std::memory_order_relaxed);
    if (link != 0) {
      const uint64_t offset = offset_of(link);
      M::store(reinterpret_cast<uint64_t*>(regions_.home + offset), M::load(main(record)));
      lines_.add(offset);
      bytes += sizeof(uint64_t);
      heads_[stripes_.of(offset)].store(0, std::memory_order_relaxed);
      links_[record].store(0, std::memory_order_relaxed);
    }
  }
  if (bytes != 0) {
    lines_.write_back(regions_.home, Site{"records.home"});
    // Separates the home from base: the home is durable before base covers it.
    machine_.pfence(Site{"records.home.fence"});
    // Base is durable before a record is reused, which would overwrite the value of its former
    // word.
    persist_base(upto, Site{"records.base"}, Site{"records.base.fence"});
  }
  used_->count.store(0, std::memory_order_relaxed);
  for (auto& spare : spare_) {
    spare.clear();
  }
  return bytes;
}

/// Stores base and makes it durable.
template <class M>
void RecordTable<M>::persist_base(uint64_t upto, Site site, Site fence) {
  // Release: the store stays behind the stores to the home.
  M::store_release(base(), encode_tail(upto));
  machine_.pwb(base(), site);
  // Separates base from the reuse of records.
  machine_.pfence(fence);
}

/// Describes the fault of an invalid record; empty if it is valid.
template <class M>
std::string RecordTable<M>::flaw(const RecoveredRecord& found) const {
  if (found.transaction >> kTailBits != 0) {
    return "belongs to no possible transaction";
  }
  return found.words.offset() < regions_.bytes ? "" : "belongs to a word outside the heap's data";
}

template <class M>
Status RecordTable<M>::scan(std::vector<RecoveredRecord>& found, uint64_t& newest) {
  AreaHeader header;
  M::copy(header.data(), regions_.area, sizeof(header));
  const auto base_found = decode_tail(M::load(base()));
  if (header != area_.header(magic_) || !base_found) {
    return foreign_area();
  }
  newest = *base_found;
  const uint64_t from = machine_.skips(Site{"records.recover.base"}) ? 0 : newest;
  // Many at once, because on a simulated machine every access is a separate event.
  constexpr uint64_t kAtOnce = 64;
  std::array<RecordWords, kAtOnce> some;
  for (uint64_t first = 0; first < size(); first += kAtOnce) {
    const uint64_t n = std::min(kAtOnce, size() - first);
    M::copy(some.data(), main(first), n * RecordWords::kBytes);
    for (uint64_t i = 0; i < n; ++i) {
      const RecoveredRecord one{some[i], some[i].number >> low_bits_};
      if (one.transaction <= from) {
        continue;  // its word is home, or a crash interrupted its reassignment to another word
      }
      if (const std::string wrong = flaw(one); !wrong.empty()) {
        return {Code::corrupt, "record " + std::to_string(first + i) + " " + wrong +
                                   "; nothing was changed. Restore the heap file from a copy"};
      }
      found.push_back(one);
    }
  }
  return {};
}

template <class M>
template <class F>
void RecordTable<M>::settle(const std::vector<RecoveredRecord>& found, uint64_t newest,
                            F&& committed, RecoveryReport& report) {
  const PhaseScope<M> scope(Phase::replay);
  if (found.empty()) {
    report.text = "every word was home";
    return;
  }
  std::vector<uint64_t> undone;
  for (const RecoveredRecord& one : found) {
    const bool keep = committed(one);
    const uint64_t value = keep ? one.words.main : one.words.back;
    const uint64_t offset = one.words.offset();
    M::store(reinterpret_cast<uint64_t*>(regions_.home + offset), value);
    if (!machine_.skips(Site{"records.recover.working_copy"})) {
      // The working copy was mapped before the home changed, so it may lack this value.
      M::store(reinterpret_cast<uint64_t*>(regions_.data + offset), value);
    }
    lines_.add(offset);
    if (!keep) {
      M::reach(Probe{"records.recover.undoes"});
      undone.push_back(one.words.number);
    }
  }
  std::sort(undone.begin(), undone.end());
  undone.erase(std::unique(undone.begin(), undone.end()), undone.end());
  report.needed = true;
  report.transactions = undone.size();
  report.bytes = found.size() * sizeof(uint64_t);
  report.text = "brought " + std::to_string(found.size()) +
                " words home from their records, undid " + std::to_string(undone.size()) +
                " unfinished transactions";
  lines_.write_back(regions_.home, Site{"records.recover.home"});
  // Separates the home from base: the home is durable before base invalidates the records.
  machine_.pfence(Site{"records.recover.home.fence"});
  persist_base(newest, Site{"records.recover.base.move"}, Site{"records.recover.base.fence"});
}

}  // namespace holdfast
