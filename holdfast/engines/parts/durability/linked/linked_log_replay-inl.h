// SPDX-License-Identifier: Apache-2.0
// Replay while the engine runs; included by linked_log_replayer.h.
#pragma once

namespace holdfast {

/// The time up to which all transactions are in the logs.
template <class M>
uint64_t LinkedLogReplayer<M>::settled_bound() const {
  if (bound_) {
    return bound_();
  }
  uint64_t bound = 0;
  for (int t = 0; t < logs_.count; ++t) {
    // Acquire: the loads that follow see the logs complete up to this time.
    bound = std::max(bound, threads_[t].settled_time.load(std::memory_order_acquire));
  }
  return bound;
}

/// The successor of the last replayed transaction, if its link is there.
template <class M>
std::optional<LinkedRecord> LinkedLogReplayer<M>::follow(const std::optional<LinkedRecord>& last,
                                                         const Positions& next) const {
  if (order_ != ReplayOrder::links || !last) {
    return {};
  }
  const auto link = LogLink::decode(logs_.link(*last));
  // A transaction stores the link to itself before it settles. If its record is not settled yet,
  // the link counts as missing.
  if (!link || link->thread >= logs_.count ||
      link->start != next[static_cast<size_t>(link->thread)] ||
      link->start >= settled_end(link->thread)) {
    return {};
  }
  return logs_.record(link->thread, link->start);
}

/// The oldest transaction that is logged and not replayed.
template <class M>
std::optional<LinkedRecord> LinkedLogReplayer<M>::oldest(const Positions& next) const {
  std::optional<LinkedRecord> found;
  for (int t = 0; t < logs_.count; ++t) {
    const uint64_t start = next[static_cast<size_t>(t)];
    if (start >= logged_end(t)) {
      continue;
    }
    const auto record = logs_.record(t, start);
    if (record && (!found || record->before(*found))) {
      found = record;
    }
    if (found && machine_.skips(Site{"pht.replay.order"})) {
      break;
    }
  }
  return found;
}

template <class M>
size_t LinkedLogReplayer<M>::replay(size_t limit) {
  const PhaseScope<M> scope(Phase::replay);
  const uint64_t bound = settled_bound();
  auto& counts = statistics_.at(machine_.self());
  uint64_t bytes = 0;
  size_t done = 0;
  blocked_on_.reset();
  while (done < limit) {
    auto record = follow(last_, next_);
    if (!record) {
      record = oldest(next_);
    }
    if (!record) {
      break;
    }
    const bool own = record->end() <= settled_end(record->thread);
    if (!(own && record->time <= bound) && !machine_.skips(Site{"pht.replay.settled"})) {
      // It may not be durable, or not the oldest, or its owner may still link it. With a separate
      // bound, older ones may appear although it has settled. Then there is no owner to wait for.
      M::reach(Probe{"pht.replay.not_settled"});
      blocked_on_ = own && bound_ ? std::nullopt : record;
      break;
    }
    bytes += apply(*record, false, Site{"pht.replay.home"});
    next(record->thread) = record->end();
    last_ = record;
    ++done;
  }
  if (done == 0) {
    return 0;
  }
  if (done == limit) {
    M::reach(Probe{"pht.replay.full_batch"});
  }
  // Separates the home from the table: the home is durable before the table covers it.
  machine_.pfence(Site{"pht.replay.home.fence"});
  persist_progress();
  counts.replayed += done;
  counts.bytes_written += bytes;
  return done;
}

/// The replayed transactions are durable in the home. Records that durably, then frees the space.
template <class M>
void LinkedLogReplayer<M>::persist_progress() {
  progress_.time = last_->time;  // NOLINT(bugprone-unchecked-optional-access): something was done
  progress_.positions = next_;
  table_.write(progress_, Site{"pht.replay.table"}, Site{"pht.replay.table.fence"});
  free_space();
}

/// Frees all replayed space for the logs' owners, except the line with the last transaction's link.
template <class M>
void LinkedLogReplayer<M>::free_space() {
  for (int t = 0; t < logs_.count; ++t) {
    const uint64_t kept = last_ && last_->thread == t ? machine_.line_bytes() : 0;
    // Release: the owner may overwrite the space after this thread's loads from it.
    threads_[t].freed.store(next(t) - kept, std::memory_order_release);
  }
}

/// Copies a transaction's values into the home and begins to write them back. Returns their bytes.
template <class M>
uint64_t LinkedLogReplayer<M>::apply(const LinkedRecord& record, bool to_working_copy, Site site) {
  uint64_t bytes = 0;
  logs_.payload(record, words_);
  for_each_record(words_.data(), words_.size(), [&](RedoRecord r, const uint64_t* payload) {
    M::copy(regions_.home + r.offset, payload, r.bytes);
    machine_.pwb_range(regions_.home + r.offset, r.bytes, site);
    if (to_working_copy) {
      M::copy(regions_.data + r.offset, payload, r.bytes);
    }
    bytes += r.bytes;
  });
  return bytes;
}

}  // namespace holdfast
