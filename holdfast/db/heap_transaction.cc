// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/heap_transaction.h"

#include <vector>

namespace holdfast::db {

Status HeapTransaction::Get(const Slice& key, std::string* value) {
  std::string name = key.ToString();
  if (const auto own = writes_.find(name); own != writes_.end()) {
    if (own->second.deletion) {
      return Status::NotFound("the key is not in the database");
    }
    *value = own->second.value;
    return Status::OK();
  }
  uint64_t stamp = 0;
  const holdfast::Status status = store_.get(key, view_, value, &stamp);
  if (status.ok() || status.code() == Code::not_found) {
    reads_.emplace(std::move(name), stamp);
  }
  return translated(status);
}

void HeapTransaction::Put(const Slice& key, const Slice& value) {
  writes_.insert_or_assign(key.ToString(), Written{false, value.ToString()});
}

void HeapTransaction::Delete(const Slice& key) {
  writes_.insert_or_assign(key.ToString(), Written{true, {}});
}

Status HeapTransaction::Commit(bool* committed) {
  *committed = true;
  if (writes_.empty()) {
    return Status::OK();  // all it read was there when it began
  }
  std::vector<Change> changes;
  for (const auto& [key, written] : writes_) {
    changes.push_back({key, written.value, written.deletion});
  }
  bool outdated = false;
  auto look = [&](const Versions<HeapDB::H>& now) {
    outdated = false;
    for (const auto& [key, stamp] : reads_) {
      now.hold_key(key);
      const auto* version = now.find(key, nullptr);
      outdated = outdated || (version == nullptr ? 0 : version->stamp.load()) != stamp;
    }
    return outdated;
  };
  const Store<HeapDB::H>::Objection objection(look);
  const holdfast::Status status = store_.write(changes, reads_.empty() ? nullptr : &objection);
  *committed = status.ok() && !outdated;
  return translated(status);
}

}  // namespace holdfast::db
