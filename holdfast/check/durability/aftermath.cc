// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/durability/aftermath.h"

#include <algorithm>
#include <string>

namespace holdfast::check {
namespace {

constexpr WriteId kUnvisited = kNotLooked - 1;
constexpr WriteId kOnPath = kNotLooked - 2;

std::string value_of(const Write& write) {
  return "x" + std::to_string(write.object) + " holds a value of T" +
         std::to_string(write.transaction);
}

}  // namespace

Aftermath::Aftermath(const VersionTable& versions, std::span<const uint64_t> recovered,
                     bool real_time)
    : versions_(versions),
      real_time_(real_time),
      root_(versions.size(), kUnvisited),
      interval_(versions.size()),
      on_chain_(versions.size(), false),
      shown_(versions.transactions() + 1),
      missing_(versions.transactions() + 1),
      implied_(versions.transactions() + 1),
      doomed_(versions.transactions() + 1) {
  find_roots();
  for (Object object = 0; object < recovered.size(); ++object) {
    walk(object, Version::of_word(recovered[object]));
  }
  std::vector<uint32_t> survivors;
  for (WriteId id = 0; id < versions_.size(); ++id) {
    const Write& write = versions_[id];
    if (!write.last || !versions_.effective(write.transaction)) {
      continue;
    }
    const State state = this->state(id);
    if (state == State::shown) {
      shown_[write.transaction] = write.object;
      implied_[write.transaction] = Step{};
      survivors.push_back(write.transaction);
    } else if (state == State::missing) {
      missing_[write.transaction] = write.object;
    }
  }
  for (WriteId id = 0; id < versions_.size(); ++id) {
    const Write& write = versions_[id];
    if (write.last && versions_.effective(write.transaction) && !implied_[write.transaction] &&
        state(id) == State::overwritten) {
      const WriteId found = recovered_[write.object];
      implied_[write.transaction] = Step{write.transaction, versions_[found].transaction,
                                         EdgeKind::write_write, write.object};
      survivors.push_back(write.transaction);
    }
  }
  imply(std::move(survivors));
  spread_doom();
}

void Aftermath::find_roots() {
  for (WriteId id = 0; id < versions_.size(); ++id) {
    const WriteId root = root_of(id);
    const Write& write = versions_[id];
    if (is_write(root) && write.last && versions_.effective(write.transaction)) {
      const Transaction& member = versions_.history().at(write.transaction);
      interval_[root].earliest_end = std::min(interval_[root].earliest_end, member.end);
      interval_[root].latest_begin = std::max(interval_[root].latest_begin, member.begin);
    }
  }
}

/// Follows `previous` to the first write of the chain. Returns kGarbage if the chain begins with no
/// version, or is circular.
WriteId Aftermath::root_of(WriteId id) {
  std::vector<WriteId> path;
  WriteId root = kUnvisited;
  while (root == kUnvisited) {
    if (root_[id] != kUnvisited) {
      root = root_[id] == kOnPath ? kGarbage : root_[id];
      break;
    }
    root_[id] = kOnPath;
    path.push_back(id);
    const WriteId previous = versions_[id].previous;
    if (previous == kNotLooked) {
      root = id;
    } else if (!is_write(previous)) {
      root = previous;
    } else {
      id = previous;
    }
  }
  for (const WriteId step : path) {
    root_[step] = root;
  }
  return root;
}

/// Follows the chain of the version that was recovered in an object, and reports what cannot be
/// there.
void Aftermath::walk(Object object, Version version) {
  WriteId id = versions_.find(version, object);
  recovered_.push_back(id);
  const std::string name = "x" + std::to_string(object);
  if (id == kGarbage) {
    impossible_.push_back({"garbage",
                           name + " holds the word " + std::to_string(version.word()) +
                               ", which names no write into it",
                           {}});
    return;
  }
  bool first = true;
  for (; is_write(id); id = versions_[id].previous, first = false) {
    const Write& write = versions_[id];
    const bool undone = versions_.history().at(write.transaction).outcome == Outcome::aborted;
    if (undone || !write.last || on_chain_[id]) {
      const std::string fault = undone        ? ", which was rolled back"
                                : !write.last ? ", which its own transaction overwrote"
                                              : ", which was built on itself";
      std::string what = first ? "" : name + " was built on a value that cannot survive: ";
      what.append(value_of(write)).append(fault);
      impossible_.push_back({!first   ? "broken chain"
                             : undone ? "rolled-back attempt survived"
                                      : "intermediate value survived",
                             what,
                             {{write.transaction, write.transaction, EdgeKind::survived, object}}});
      recovered_[object] = kGarbage;
      return;
    }
    on_chain_[id] = true;
  }
  if (id == kGarbage) {
    impossible_.push_back({"broken chain", name + " was built on a word that names no write", {}});
    recovered_[object] = kGarbage;
  }
}

Aftermath::State Aftermath::state(WriteId id) const {
  if (on_chain_[id]) {
    return State::shown;
  }
  const WriteId found = recovered_[versions_[id].object];
  const WriteId root = root_[id];
  if (found == kGarbage || root == kGarbage) {
    return State::unknown;
  }
  const WriteId found_root = found == kInitial ? kInitial : root_[found];
  // A chain is contiguous in the order of all versions of the object. The initial chain is first.
  if (root == found_root || found_root == kInitial) {
    return State::missing;
  }
  if (root == kInitial) {
    return State::overwritten;
  }
  if (real_time_ && interval_[found_root].earliest_end < interval_[root].latest_begin) {
    return State::missing;
  }
  if (real_time_ && interval_[root].earliest_end < interval_[found_root].latest_begin) {
    return State::overwritten;
  }
  return State::unknown;
}

void Aftermath::imply(std::vector<uint32_t> survivors) {
  while (!survivors.empty()) {
    const uint32_t survivor = survivors.back();
    survivors.pop_back();
    for (const Observation& seen : versions_.observations(survivor)) {
      if (!is_write(seen.write)) {
        continue;
      }
      const uint32_t writer = versions_[seen.write].transaction;
      if (versions_.effective(writer) && !implied_[writer]) {
        implied_[writer] = Step{writer, survivor, EdgeKind::write_read, seen.object};
        survivors.push_back(writer);
      }
    }
  }
}

void Aftermath::spread_doom() {
  std::vector<std::vector<Step>> readers(versions_.transactions() + 1);
  std::vector<uint32_t> doomed;
  for (uint32_t t = 1; t <= versions_.transactions(); ++t) {
    for (const Observation& seen : versions_.observations(t)) {
      if (is_write(seen.write)) {
        const uint32_t writer = versions_[seen.write].transaction;
        readers[writer].push_back({writer, t, EdgeKind::write_read, seen.object});
      }
    }
    if (missing_[t]) {
      doomed_[t] = Step{};
      doomed.push_back(t);
    }
  }
  while (!doomed.empty()) {
    const uint32_t writer = doomed.back();
    doomed.pop_back();
    for (const Step& step : readers[writer]) {
      if (!doomed_[step.to]) {
        doomed_[step.to] = step;
        doomed.push_back(step.to);
      }
    }
  }
}

}  // namespace holdfast::check
