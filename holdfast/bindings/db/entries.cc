// SPDX-License-Identifier: Apache-2.0
#include "holdfast/bindings/db/entries.h"

#include <algorithm>
#include <iterator>

namespace holdfast::bindings {

Entries::Entries(std::shared_ptr<Database> database, Snapshot* snapshot, const Map* map, Walk walk,
                 What what)
    : database_(std::move(database)), walk_(std::move(walk)), what_(what) {
  auto make = [&](db::DB& db, const db::Snapshot* as_of) {
    at_ = db.NewIterator(database_->reading(as_of), family_of(map));
    begin();
    database_->add(this);
    return db::Status::OK();
  };
  if (snapshot != nullptr) {
    snapshot->read(make);
  } else {
    database_->read([&](db::DB& db) { return make(db, nullptr); });
  }
}

Entries::Entries(std::shared_ptr<Transaction> transaction, const Map* map, Walk walk, What what)
    : transaction_(std::move(transaction)), walk_(std::move(walk)), what_(what) {
  filled_at_ = transaction_->writes();
  transaction_->use([&](db::OptimisticTransaction& t) {
    at_ = t.NewIterator(family_of(map));
    begin();
    transaction_->add(this);
    return db::Status::OK();
  });
}

Entries::~Entries() {
  end();
}

void Entries::drop() {
  const std::lock_guard lock(mutex_);
  delete at_;
  at_ = nullptr;
  dropped_ = true;
}

/// Frees the iterator.
void Entries::end() {
  over_ = true;
  if (transaction_ != nullptr) {
    transaction_->remove(this);
  } else {
    database_->remove(this);
  }
}

void Entries::begin() {
  if (walk_.reverse) {
    walk_.stop ? seek_before(*walk_.stop) : at_->SeekToLast();
  } else {
    walk_.start ? at_->Seek(*walk_.start) : at_->SeekToFirst();
  }
  at_next_ = true;
}

/// Moves behind the entry with this key, which may be gone.
void Entries::resume(const std::string& last) {
  if (walk_.reverse) {
    seek_before(last);
  } else {
    at_->Seek(last);
    if (at_->Valid() && at_->key() == db::Slice(last)) {
      at_->Next();
    }
  }
  at_next_ = true;
}

void Entries::seek_before(const std::string& key) {
  at_->Seek(key);
  if (at_->Valid()) {
    at_->Prev();
  } else if (at_->status().ok()) {
    at_->SeekToLast();
  }
}

bool Entries::in_range() const {
  return at_->Valid() && (walk_.reverse ? !walk_.start || at_->key().compare(*walk_.start) >= 0
                                        : !walk_.stop || at_->key().compare(*walk_.stop) < 0);
}

db::Status Entries::fill(std::deque<KeyAndValue>* ahead, size_t most) {
  size_t bytes = 0;
  for (size_t n = 0; n < std::min(next_size_, most) && bytes < kMostBytesAhead; ++n) {
    if (!at_next_) {
      walk_.reverse ? at_->Prev() : at_->Next();
    }
    at_next_ = false;
    if (!in_range()) {
      ended_ = true;
      break;
    }
    ahead->emplace_back(at_->key().ToString(), at_->value().ToString());
    bytes += ahead->back().first.size() + ahead->back().second.size();
  }
  next_size_ = std::min(2 * next_size_, kMostAhead);
  return at_->status();
}

void Entries::read_on() {
  const bool restart = outdated();
  const std::optional<std::string> last = restart ? last_ : std::nullopt;
  const size_t most = walk_.limit.value_or(SIZE_MAX) - returned_;
  std::deque<KeyAndValue> more;
  const auto work = [&] {
    const std::lock_guard lock(mutex_);
    if (at_ == nullptr || (ended_ && !restart)) {
      return db::Status::OK();
    }
    if (restart) {
      last ? resume(*last) : begin();
      ended_ = false;
      next_size_ = 1;
    }
    return fill(&more, most);
  };
  if (restart) {
    ahead_.clear();
    filled_at_ = transaction_->writes();
  }
  if (transaction_ != nullptr) {
    transaction_->use([&](db::OptimisticTransaction& /*t*/) { return work(); });
  } else {
    database_->read([&](db::DB& /*db*/) { return work(); });
  }
  std::move(more.begin(), more.end(), std::back_inserter(ahead_));
}

nb::object Entries::next() {
  if (dropped_) {
    ahead_.clear();  // reading on raises the reason
  }
  if (!over_ && (ahead_.empty() || outdated()) && returned_ < walk_.limit.value_or(SIZE_MAX)) {
    read_on();
  }
  if (ahead_.empty()) {
    end();  // now, not when Python collects this object
    throw nb::stop_iteration();
  }
  const KeyAndValue entry = std::move(ahead_.front());
  ahead_.pop_front();
  ++returned_;
  if (transaction_ != nullptr) {
    last_ = entry.first;
  }
  if (what_ == What::keys) {
    return to_python(entry.first);
  }
  if (what_ == What::values) {
    return to_python(entry.second);
  }
  return nb::make_tuple(to_python(entry.first), to_python(entry.second));
}

}  // namespace holdfast::bindings
