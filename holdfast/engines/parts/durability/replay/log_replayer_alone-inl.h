// SPDX-License-Identifier: Apache-2.0
// Replay by durability markers on threads of its own, and recovery by several threads; included
// by log_replayer.h.
#pragma once

namespace holdfast {

/// The number's marker if its transaction is durable or was aborted, else nothing.
template <class M>
std::optional<DurabilityMarker> LogReplayer<M>::settled(uint64_t number) const {
  // No fence between the two loads of the slot: no thread stores to it during this call.
  auto marker = markers_.read(number, markers_.peek(number));
  if (!marker || marker->number != number || states_.works_on(marker->thread, number)) {
    return {};
  }
  return marker;
}

/// One replayer's walk along the array, up to `last`.
template <class M>
typename LogReplayer<M>::Walked LogReplayer<M>::walk(ReplayShard<M>& shard, uint64_t last) const {
  Walked walked;
  walked.freed.resize(static_cast<size_t>(logs_.count));
  const auto apply = [&](const DurabilityMarker& marker) {
    if (!marker.aborted) {
      logs_.template read<M>(marker.thread, marker.start, marker.bytes, shard.words());
      shard.apply(Site{"replay.home"});
    }
  };
  const uint64_t first = tail() + 1;
  for (uint64_t number = first; number <= last; ++number) {
    const auto marker = settled(number);
    if (!marker) {
      walked.complete = false;
      return walked;
    }
    if (!marker->aborted) {
      walked.transactions += 1;
      walked.freed[static_cast<size_t>(marker->thread)] +=
          logs_.is_lent(marker->start) ? 0 : RedoLog<M>::taken(machine_, marker->bytes);
    }
    if (!shard.backward()) {
      apply(*marker);
    }
  }
  for (uint64_t number = last; shard.backward() && number >= first; --number) {
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the walk forward has found it
    apply(settled(number).value());
  }
  return walked;
}

/// All shards are durable. Advances the tail durably, then frees the space.
template <class M>
void LogReplayer<M>::finish(const Walked& walked, uint64_t last) {
  persist_tail(last, Site{"replay.tail"}, Site{"replay.tail.fence"});
  for (int t = 0; t < logs_.count; ++t) {
    // Memory orders as in replay().
    Position& position = freed_[t].position;
    position.store(position.load(std::memory_order_relaxed) + walked.freed[static_cast<size_t>(t)],
                   std::memory_order_release);
  }
}

template <class M>
Result<ReplayReport> LogReplayer<M>::replay_alone(uint64_t last, const ReplayOptions& options) {
  lock_.lock();
  auto report = lock_.finish([&] {
    return sharded_.run(
        regions_, options, [&](ReplayShard<M>& shard) { return walk(shard, last); },
        [&](const Walked& walked) { finish(walked, last); });
  });
  if (report.ok()) {  // the replayers may have no slots
    auto& counts = statistics_.at(machine_.self());
    counts.replayed += report->transactions;
    counts.bytes_written += report->written;
  }
  return report;
}

/// The last step of recovery, by several threads, after all checks.
template <class M>
Result<uint64_t> LogReplayer<M>::recover_sharded(const std::vector<DurabilityMarker>& live,
                                                 int replayers, RecoveryReport& report) {
  const uint64_t last = live.back().number;
  const auto done = sharded_.run(
      regions_, {replayers, false},
      [&](ReplayShard<M>& shard) {
        Walked walked;
        for (const DurabilityMarker& marker : live) {
          if (!marker.aborted) {
            logs_.template read<M>(marker.thread, marker.start, marker.bytes, shard.words());
            shard.apply(Site{"recover.home"});
            walked.transactions += 1;
          }
        }
        return walked;
      },
      [&](const Walked&) { persist_tail(last, Site{"recover.tail"}, Site{"recover.tail.fence"}); },
      !machine_.skips(Site{"recover.working_copy"}));
  if (!done) {
    return done.status();
  }
  report.needed = true;
  report.transactions += done.value().transactions;
  report.bytes += done.value().written;
  return last;
}

}  // namespace holdfast
