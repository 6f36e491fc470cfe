// SPDX-License-Identifier: Apache-2.0
// Recovery from linked logs; included by linked_log_replayer.h.
#pragma once

namespace holdfast {

/// Collects the transactions of one log from `start` on, up to the bound. Behind the last of them
/// lie records that were not durable at the crash. None of these may be a valid record within the
/// bound. If one is, a record in between is damaged. Older records lie there as well, in which a
/// value may look like a header; its checksum is wrong.
template <class M>
Status LinkedLogReplayer<M>::collect(int thread, uint64_t start, const Bound& bound,
                                     std::vector<LinkedRecord>& live) {
  uint64_t at = start;
  uint64_t newest = 0;
  for (;;) {
    const auto record = logs_.record(thread, at);
    const bool whole = record && record->end() - start <= logs_.bytes && record->time > newest;
    if (!whole || (record->time > bound.time && !machine_.skips(Site{"pht.recover.bound"}))) {
      if (whole) {
        M::reach(Probe{"pht.recover.beyond_bound"});
      }
      break;
    }
    if (Status status = verify(*record); !status.ok()) {
      return status;
    }
    live.push_back(*record);
    newest = record->time;
    at = record->end();
  }
  const uint64_t end = start + logs_.bytes;
  for (uint64_t p = at; p < end; p += kScanBytes) {
    logs_.template read<M>(thread, p % logs_.bytes, std::min(kScanBytes, end - p), words_);
    for (size_t i = 0; i < words_.size(); i += kLineBytes / 8) {
      const uint64_t words[3] = {words_[i], words_[i + 1], words_[i + 2]};
      const auto record = LinkedRecord::parse(thread, p + i * 8, logs_.epoch, words);
      if (record && record->time <= bound.time && record->extent <= logs_.bytes &&
          verify(*record).ok() && !machine_.skips(Site{"pht.recover.bound"})) {
        return damaged("the redo log of thread " + std::to_string(thread) + " has a hole at byte " +
                       std::to_string(at % logs_.bytes));
      }
    }
  }
  return {};
}

template <class M>
Status LinkedLogReplayer<M>::verify(const LinkedRecord& record) {
  const std::string what = "the redo log of the transaction at time " + std::to_string(record.time);
  logs_.payload(record, payload_);
  if (checksum(payload_.data(), record.payload, record.seed(logs_.epoch)) != record.checksum) {
    return damaged(what + " fails its checksum");
  }
  bool inside = true;
  const bool all =
      for_each_record(payload_.data(), payload_.size(), [&](RedoRecord r, const uint64_t*) {
        inside = inside && r.offset < regions_.bytes && r.bytes <= regions_.bytes - r.offset;
      });
  return all && inside ? Status() : damaged(what + " stores outside the heap's data");
}

/// Applies the records to the home and to the working copy, which was mapped before the home
/// changed and may lack these values.
template <class M>
void LinkedLogReplayer<M>::apply_all(const std::vector<LinkedRecord>& live,
                                     RecoveryReport& report) {
  for (const LinkedRecord& record : live) {
    report.bytes +=
        apply(record, !machine_.skips(Site{"pht.recover.working_copy"}), Site{"pht.recover.home"});
  }
  if (!live.empty()) {
    // Separates the home from the new epoch: the home is durable before the logs become invalid.
    machine_.pfence(Site{"pht.recover.home.fence"});
  }
}

/// Applies the records by several threads, each of which fences its own stores.
template <class M>
Status LinkedLogReplayer<M>::apply_sharded(const std::vector<LinkedRecord>& live, int replayers,
                                           RecoveryReport& report) {
  const auto done = sharded_.run(
      regions_, {replayers, false},
      [&](ReplayShard<M>& shard) {
        for (const LinkedRecord& record : live) {
          logs_.payload(record, shard.words());
          shard.apply(Site{"pht.recover.home"});
        }
        return Walked{.transactions = live.size(), .next = {}, .last = {}};
      },
      [](const Walked&) {}, !machine_.skips(Site{"pht.recover.working_copy"}));
  if (done.ok()) {
    report.bytes += done.value().written;
  }
  return done.status();
}

/// Begins a new epoch, which invalidates the content of all logs.
template <class M>
void LinkedLogReplayer<M>::begin_epoch(uint64_t last) {
  progress_.time = last;
  std::fill(progress_.positions.begin(), progress_.positions.end(), 0);
  if (!machine_.skips(Site{"pht.recover.epoch"})) {
    ++progress_.epoch;
  }
  logs_.epoch = progress_.epoch;
  table_.write(progress_, Site{"pht.recover.table"}, Site{"pht.recover.table.fence"});
  std::fill(next_.begin(), next_.end(), 0);
}

template <class M>
Result<uint64_t> LinkedLogReplayer<M>::recover(const Bound& bound, RecoveryReport& report,
                                               int replayers) {
  const PhaseScope<M> scope(Phase::replay);
  auto progress = table_.read();
  if (!progress) {
    return damaged("both tables of the replay's progress are damaged");
  }
  progress_ = *progress;
  logs_.epoch = progress_.epoch;
  std::vector<LinkedRecord> live;
  // A closed or new heap has nothing to replay. To read its logs for holes would take most of the
  // time to open it.
  const int filled = formatted_ || regions_.closed ? 0 : logs_.count;
  for (int t = 0; t < filled; ++t) {
    if (Status status = collect(t, progress_.positions[static_cast<size_t>(t)], bound, live);
        !status.ok()) {
      return status;
    }
  }
  if (!machine_.skips(Site{"pht.recover.sort"})) {
    std::sort(live.begin(), live.end(),
              [](const LinkedRecord& a, const LinkedRecord& b) { return a.before(b); });
  }
  const uint64_t last = std::max(progress_.time, live.empty() ? 0 : live.back().time);
  if (bound.exact && last != bound.time && !machine_.skips(Site{"pht.recover.bound"})) {
    return damaged("the transaction that the durability marker names is not in the logs");
  }
  // Only stores from here on. The epoch moves last, so recovery after a crash repeats the stores.
  if (replayers > 1 && !live.empty()) {
    M::reach(Probe{"pht.recover.sharded"});
    if (Status status = apply_sharded(live, replayers, report); !status.ok()) {
      return status;
    }
  } else {
    apply_all(live, report);
  }
  report.transactions = live.size();
  report.needed = !live.empty();
  begin_epoch(last);
  return last;
}

}  // namespace holdfast
