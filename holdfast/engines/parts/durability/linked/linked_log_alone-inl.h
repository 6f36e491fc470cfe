// SPDX-License-Identifier: Apache-2.0
// Replay of linked logs on threads of its own; included by linked_log_replayer.h.
#pragma once

namespace holdfast {

/// One replayer's walk from one transaction to the next, through all logs.
template <class M>
typename LinkedLogReplayer<M>::Walked LinkedLogReplayer<M>::walk(ReplayShard<M>& shard) const {
  struct Met {
    int thread;
    uint64_t start;
  };
  std::vector<Met> met;  // the transactions to apply on the way back
  Walked walked{.next = next_, .last = last_};
  const auto apply = [&](const LinkedRecord& record) {
    logs_.payload(record, shard.words());
    shard.apply(Site{"pht.replay.home"});
  };
  const uint64_t bound = settled_bound();
  for (;;) {
    auto record = follow(walked.last, walked.next);
    if (!record) {
      record = oldest(walked.next);
    }
    if (!record || record->time > bound || record->end() > settled_end(record->thread)) {
      break;
    }
    walked.next[static_cast<size_t>(record->thread)] = record->end();
    walked.last = record;
    walked.transactions += 1;
    if (shard.backward()) {
      met.push_back({record->thread, record->start});
    } else {
      apply(*record);
    }
  }
  walked.complete = nothing_left(walked.next);
  for (size_t i = met.size(); i-- > 0 && walked.complete;) {
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the walk forward has found it
    apply(logs_.record(met[i].thread, met[i].start).value());
  }
  return walked;
}

/// All shards are durable. Records the progress durably, then frees the space.
template <class M>
void LinkedLogReplayer<M>::finish(const Walked& walked) {
  if (walked.transactions != 0) {
    next_ = walked.next;
    last_ = walked.last;
    persist_progress();
  }
}

template <class M>
Result<ReplayReport> LinkedLogReplayer<M>::replay_alone(const ReplayOptions& options) {
  lock_.lock();
  auto report = lock_.finish([&] {
    return sharded_.run(
        regions_, options, [&](ReplayShard<M>& shard) { return walk(shard); },
        [&](const Walked& walked) { finish(walked); });
  });
  if (report.ok()) {  // the replayers may have no slots
    auto& counts = statistics_.at(machine_.self());
    counts.replayed += report->transactions;
    counts.bytes_written += report->written;
  }
  return report;
}

}  // namespace holdfast
