// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/history/version_table.h"

namespace holdfast::check {
namespace {

Finding unusable(uint32_t number, const std::string& what) {
  return {"malformed history", "transaction " + std::to_string(number) + " " + what, {}};
}

}  // namespace

std::optional<Finding> malformed(const History& history) {
  for (size_t i = 0; i < history.transactions.size(); ++i) {
    const Transaction& transaction = history.transactions[i];
    const auto number = static_cast<uint32_t>(i + 1);
    if (transaction.number != number) {
      return unusable(number, "carries the number " + std::to_string(transaction.number));
    }
    if (transaction.begin > transaction.end) {
      return unusable(number, "ends before it begins");
    }
    uint32_t writes = 0;
    for (const Access& access : transaction.accesses) {
      if (access.object >= history.objects) {
        return unusable(number, "names object " + std::to_string(access.object) + " of " +
                                    std::to_string(history.objects));
      }
      if (access.writes() && access.version != Version{number, ++writes}) {
        return unusable(number, "stores a word that does not name its own next write, which is " +
                                    std::to_string(writes));
      }
    }
  }
  return std::nullopt;
}

VersionTable::VersionTable(const History& history, std::span<const uint64_t> recovered)
    : history_(history), current_(history.objects) {
  list_writes();
  effective_.assign(history.transactions.size() + 1, false);
  for (const Transaction& transaction : history.transactions) {
    if (transaction.outcome == Outcome::committed) {
      effective_[transaction.number] = true;
    }
  }
  first_observation_ = {0, 0};
  for (const Transaction& transaction : history.transactions) {
    follow(transaction);
    first_observation_.push_back(observations_.size());
  }
  for (Object object = 0; object < recovered.size(); ++object) {
    const WriteId id = find(Version::of_word(recovered[object]), object);
    if (is_write(id) && history.at(writes_[id].transaction).outcome == Outcome::live) {
      effective_[writes_[id].transaction] = true;
    }
  }
}

WriteId VersionTable::find(Version version, Object object) const {
  if (version == Version{}) {
    return kInitial;
  }
  if (version.transaction == 0 || version.transaction > history_.transactions.size() ||
      version.write == 0) {
    return kGarbage;
  }
  const uint64_t id = uint64_t{first_[version.transaction]} + version.write - 1;
  return id < first_[version.transaction + 1] && writes_[id].object == object
             ? static_cast<WriteId>(id)
             : kGarbage;
}

void VersionTable::list_writes() {
  first_ = {0, 0};
  for (const Transaction& transaction : history_.transactions) {
    for (const Access& access : transaction.accesses) {
      if (access.writes()) {
        writes_.push_back({transaction.number, access.object});
      }
    }
    first_.push_back(static_cast<WriteId>(writes_.size()));
  }
}

void VersionTable::follow(const Transaction& transaction) {
  WriteId next = first_[transaction.number];
  for (const Access& access : transaction.accesses) {
    Current& current = current_[access.object];
    if (current.by != transaction.number) {
      current = {.by = transaction.number};
    }
    const bool looks = access.kind != Access::Kind::blind;
    const Version version = access.kind == Access::Kind::read ? access.version : access.replaced;
    if (looks && !current.written && current.found == kNotLooked &&
        version.transaction != transaction.number) {
      current.found = find(version, access.object);
      observations_.push_back({access.object, current.found});
      if (is_write(current.found) && history_.at(version.transaction).outcome == Outcome::live) {
        effective_[version.transaction] = true;
      }
    }
    if (access.writes()) {
      if (current.written) {
        writes_[current.last].last = false;
      }
      writes_[next].previous = current.found;
      current.written = true;
      current.last = next++;
    }
  }
}

}  // namespace holdfast::check
