// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/iterator.h"

#include <utility>

namespace holdfast::db {
namespace {

class EmptyIterator final : public Iterator {
 public:
  explicit EmptyIterator(Status status) : status_(std::move(status)) {}
  bool Valid() const override { return false; }
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(const Slice& /*target*/) override {}
  void Next() override {}
  void Prev() override {}
  Slice key() const override { return {}; }
  Slice value() const override { return {}; }
  Status status() const override { return status_; }

 private:
  Status status_;
};

}  // namespace

Iterator::~Iterator() {
  for (const auto& clean_up : clean_ups_) {
    clean_up();
  }
}

void Iterator::RegisterCleanup(CleanupFunction function, void* first, void* second) {
  clean_ups_.emplace_back([=] { function(first, second); });
}

bool Iterator::NextEntry(Slice* key, Slice* value) {
  Next();
  return show(key, value);
}

bool Iterator::PrevEntry(Slice* key, Slice* value) {
  Prev();
  return show(key, value);
}

bool Iterator::show(Slice* key, Slice* value) const {
  if (!Valid()) {
    return false;
  }
  *key = this->key();
  *value = this->value();
  return true;
}

Iterator* NewEmptyIterator() {
  return NewErrorIterator(Status::OK());
}

Iterator* NewErrorIterator(const Status& status) {
  return new EmptyIterator(status);
}

}  // namespace holdfast::db
