// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/db/store/store.h"
#include "holdfast/db/transaction.h"

namespace holdfast::db {

/// Reads through a view and remembers the stamps it met. A key is as it was when the stamp of its
/// newest version is: stamps are never used twice.
template <class H>
class HeapTransaction final : public OptimisticTransaction {
 public:
  HeapTransaction(Store<H>& store, const View* view) : store_(store), view_(view) {}
  ~HeapTransaction() override { store_.close_view(view_); }

  Status Get(const Slice& key, std::string* value) override;
  void Put(const Slice& key, const Slice& value) override;
  void Delete(const Slice& key) override;
  Status Commit(bool* committed) override;

 private:
  struct Written {
    bool deletion;
    std::string value;
  };
  /// In the database's order, which alone says whether two keys are the same.
  struct Less {
    const Comparator* comparator;
    bool operator()(const std::string& a, const std::string& b) const {
      return comparator->Compare(a, b) < 0;
    }
  };

  Store<H>& store_;
  const View* view_;
  std::map<std::string, Written, Less> writes_{Less{store_.comparator()}};
  std::map<std::string, uint64_t, Less> reads_{Less{store_.comparator()}};  ///< stamps; 0: no value
};

template <class H>
Status HeapTransaction<H>::Get(const Slice& key, std::string* value) {
  std::string name = key.ToString();
  if (const auto own = writes_.find(name); own != writes_.end()) {
    if (own->second.deletion) {
      return no_such_key();
    }
    *value = own->second.value;
    return Status::OK();
  }
  uint64_t stamp = 0;
  auto found = store_.get(key, view_, value, &stamp);
  if (found.ok()) {
    reads_.emplace(std::move(name), stamp);
  }
  return answer(std::move(found));
}

template <class H>
void HeapTransaction<H>::Put(const Slice& key, const Slice& value) {
  writes_.insert_or_assign(key.ToString(), Written{false, value.ToString()});
}

template <class H>
void HeapTransaction<H>::Delete(const Slice& key) {
  writes_.insert_or_assign(key.ToString(), Written{true, {}});
}

template <class H>
Status HeapTransaction<H>::Commit(bool* committed) {
  *committed = true;
  if (writes_.empty()) {
    return Status::OK();  // all it read was there when it began
  }
  std::vector<Change> changes;
  changes.reserve(writes_.size());
  for (const auto& [key, written] : writes_) {
    changes.push_back({key, written.value, written.deletion});
  }
  bool outdated = false;
  auto look = [&](const Versions<H>& now) {
    outdated = false;
    for (const auto& [key, stamp] : reads_) {
      now.hold_key(key);
      const auto* version = now.find(key, nullptr);
      outdated = outdated || (version == nullptr ? 0 : version->stamp.load()) != stamp;
    }
    return outdated;
  };
  const typename Store<H>::Objection objection(look);
  const holdfast::Status status = store_.write(changes, reads_.empty() ? nullptr : &objection);
  *committed = status.ok() && !outdated;
  return translated(status);
}

}  // namespace holdfast::db
