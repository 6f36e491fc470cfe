// SPDX-License-Identifier: Apache-2.0
//
// The part of Hoop for collections, which bring words of the log home.
//
// A collection takes the slots from the tail to the first slot of the oldest open transaction. It
// goes in steps, so that other requests come between: it reads slots, then writes lines home, then
// the new tail. The table tells which words count: it maps the newest committed word of an address.
// Words of aborted transactions and older words are in no entry. The entries stay until the tail
// has moved, so misses and evictions meanwhile find all they need.
#include <algorithm>
#include <iterator>
#include <utility>

#include "holdfast/hardware/hoop/hoop.h"

namespace holdfast {

void Hoop::plan_collection(Time now) {
  constexpr Time kMicrosecond = 1'000'000;
  next_collection_ = now + options_.collect_us * kMicrosecond;
  context().wake_at(next_collection_);
}

/// Returns false if there is nothing to collect.
bool Hoop::start_collection(Time now) {
  uint64_t end = log_.slots().head();
  for (const Thread& thread : threads_) {
    if (thread.open && thread.slices != 0) {
      end = std::min(end, thread.first_slot);
    }
  }
  if (end == log_.slots().tail()) {
    return false;
  }
  collection_ = {};
  collection_.phase = Collection::Phase::scan;
  collection_.next = log_.slots().tail();
  collection_.end = end;
  collect(now);
  return true;
}

/// Makes all steps of a collection that has begun. Returns the time at which it is done.
Time Hoop::finish_collection(Time now) {
  while (collecting()) {
    now = std::max(now, collection_.due);
    collect(now);
  }
  return now;
}

void Hoop::tick(Time now) {
  while (collecting() && collection_.due <= now) {
    collect(collection_.due);
  }
  if (!collecting() && next_collection_ <= now) {
    if (start_collection(now)) {
      context().passed(kByTime);
    } else {
      plan_collection(now);
    }
  }
  context().wake_at(collecting() ? collection_.due : next_collection_);
}

/// Makes one step.
void Hoop::collect(Time now) {
  switch (collection_.phase) {
    case Collection::Phase::idle:
      return;
    case Collection::Phase::scan:
      collect_slots(now);
      break;
    case Collection::Phase::home:
      migrate_lines(now);
      break;
    case Collection::Phase::tail:
      // The table may map words that were stored outside transactions and are not durable yet.
      // Older words of these addresses stay in the log until then.
      collection_.due = outside_durable_;
      if (outside_durable_ <= now) {
        collection_.due = log_.slots().write_tail(collection_.end, now);
        collection_.phase = Collection::Phase::free;
      }
      break;
    case Collection::Phase::free:
      end_collection(now);
      return;
  }
  collection_.due = std::max(collection_.due, now + 1);
  context().wake_at(collection_.due);
}

void Hoop::collect_slots(Time now) {
  Collection& c = collection_;
  const uint64_t end = std::min(c.end, c.next + std::max<uint64_t>(1, options_.collect_lines / 2));
  const auto add = [&](const WordLog::Entry& entry) {
    for (size_t i = 0; i < entry.words.size(); ++i) {
      const uint64_t home = entry.words[i].home;
      const auto found = table_.find(line_of(home));
      if (found != table_.end() &&
          found->second[home % line_bytes_ / sizeof(uint64_t)].committed == in_log(entry.slot, i)) {
        c.lines[line_of(home)][home] = entry.words[i].value;
      }
    }
  };
  c.due = log_.read(c.next, end, add, now);
  c.next = end;
  if (c.next == c.end) {
    c.phase = c.lines.empty() ? Collection::Phase::tail : Collection::Phase::home;
    c.line = c.lines.begin();
  }
}

void Hoop::migrate_lines(Time now) {
  Collection& c = collection_;
  const auto first = c.line;
  const Time accepted =
      write_home(context(), c.line, c.lines, options_.collect_lines, Cause::migration, now);
  migrated_ += static_cast<uint64_t>(std::distance(first, c.line));
  c.due = options_.printed == HoopOptions::Printed::release ? now : accepted;
  c.phase = c.line == c.lines.end() ? Collection::Phase::tail : c.phase;
  context().passed(kMigrated);
}

/// The tail has moved. The table forgets the slots before it.
void Hoop::end_collection(Time now) {
  const uint64_t end = collection_.end;
  log_.slots().free_before(end);
  const WordLines lines = std::exchange(collection_, {}).lines;
  for (const auto& [line, words] : lines) {
    change(line, [&](Words& mapped) {
      for (Word& word : mapped) {
        const bool freed = word.committed != kNowhere && slot_of(word.committed) < end;
        word.committed = freed ? kNowhere : word.committed;
      }
    });
  }
  ++collections_;
  plan_collection(now);
}

Time Hoop::settle(Time now) {
  now = finish_collection(now);
  return start_collection(now) ? finish_collection(now) : now;
}

}  // namespace holdfast
