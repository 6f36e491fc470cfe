// SPDX-License-Identifier: Apache-2.0
//
// DB::BeginTransaction over a store.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/db/store/store.h"
#include "holdfast/db/transaction.h"

namespace holdfast::db {

/// Reads through a view, and records the stamp of each version that it reads. A key is unchanged if
/// its newest version still has the recorded stamp, because stamps are never reused.
template <class H>
class HeapTransaction final : public OptimisticTransaction {
  using View = typename Store<H>::View;

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
  /// The database's order. Keys with different bytes may be equal in it.
  struct Less {
    const Comparator* comparator;
    bool operator()(const std::string& a, const std::string& b) const {
      return comparator->Compare(a, b) < 0;
    }
  };

  Store<H>& store_;
  const View* view_;
  std::map<std::string, Written, Less> writes_{Less{store_.comparator()}};
  /// The stamp of each key that was read; 0: it had no value.
  std::map<std::string, uint64_t, Less> reads_{Less{store_.comparator()}};
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
    return Status::OK();  // serialised at its beginning, when its view was opened
  }
  std::vector<Change> changes;
  changes.reserve(writes_.size());
  for (const auto& [key, written] : writes_) {
    changes.push_back({key, written.value, written.deletion});
  }
  bool outdated = false;
  auto check_reads = [&](const Versions<H>& now) {
    outdated = false;
    for (const auto& [key, stamp] : reads_) {
      now.hold_key(key);
      const auto* version = now.find(key, nullptr);
      outdated = outdated || (version == nullptr ? 0 : version->stamp.load()) != stamp;
    }
    return outdated;
  };
  const typename Store<H>::CancelIf cancel_if(check_reads);
  const holdfast::Status status = store_.write(changes, reads_.empty() ? nullptr : &cancel_if);
  *committed = status.ok() && !outdated;
  return translated(status);
}

}  // namespace holdfast::db
