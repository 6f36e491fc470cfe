// SPDX-License-Identifier: Apache-2.0
#include "holdfast/bindings/db/entries.h"

#include <algorithm>

namespace holdfast::bindings {

Entries::Entries(std::shared_ptr<Database> database, Snapshot* snapshot, const Map* map, Walk walk,
                 What what)
    : database_(std::move(database)), walk_(std::move(walk)), what_(what) {
  auto make = [&](db::DB& db, const db::Snapshot* as_of) {
    std::unique_ptr<db::Iterator> at(db.NewIterator(database_->reading(as_of), family_of(map)));
    at_ = at.get();
    begin();
    database_->add(this);
    at.release();  // drop() deletes it
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
  transaction_->use([&](db::OptimisticTransaction& t) {
    filled_at_ = writes_now();
    std::unique_ptr<db::Iterator> at(t.NewIterator(family_of(map)));
    at_ = at.get();
    begin();
    transaction_->add(this);
    at.release();  // drop() deletes it
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
  ahead_.clear();  // reading on raises the reason
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

db::Status Entries::fill() {
  const size_t most = std::min(next_size_, left());
  size_t bytes = 0;
  for (size_t n = 0; n < most && bytes < kMostBytesAhead; ++n) {
    if (!at_next_) {
      walk_.reverse ? at_->Prev() : at_->Next();
    }
    at_next_ = true;
    if (!in_range()) {
      ended_ = true;
      break;
    }
    ahead_.emplace_back(at_->key().ToString(), at_->value().ToString());
    at_next_ = false;
    bytes += ahead_.back().first.size() + ahead_.back().second.size();
  }
  next_size_ = std::min(2 * next_size_, kMostAhead);
  return at_->status();
}

/// Reads on if no entry is ahead, or anew if the transaction has written.
db::Status Entries::read_on() {
  if (at_ == nullptr || left() == 0) {
    return db::Status::OK();
  }
  if (const uint64_t writes = writes_now(); writes != filled_at_) {
    ahead_.clear();
    last_ ? resume(*last_) : begin();
    ended_ = false;
    next_size_ = 1;
    filled_at_ = writes;
  }
  return ended_ || !ahead_.empty() ? at_->status() : fill();
}

std::optional<Entries::KeyAndValue> Entries::take() {
  if (ahead_.empty() || filled_at_ != writes_now()) {
    return std::nullopt;
  }
  if (transaction_ != nullptr) {
    last_ = ahead_.front().first;
  }
  std::optional<KeyAndValue> entry = std::move(ahead_.front());
  ahead_.pop_front();
  ++returned_;
  return entry;
}

nb::object Entries::next() {
  std::optional<KeyAndValue> found;
  bool more = !over_;
  if (const std::unique_lock lock(mutex_, std::try_to_lock); lock.owns_lock()) {
    more = more && left() != 0;
    found = take();
  }
  if (!found && more) {
    const auto work = [&] {
      const std::lock_guard lock(mutex_);
      db::Status status = read_on();
      if (status.ok()) {
        found = take();
      }
      return status;
    };
    if (transaction_ != nullptr) {
      transaction_->use([&](db::OptimisticTransaction& /*t*/) { return work(); });
    } else {
      database_->read([&](db::DB& /*db*/) { return work(); });
    }
  }
  if (!found) {
    end();  // now, not when Python collects this object
    throw nb::stop_iteration();
  }
  const KeyAndValue& entry = *found;
  if (what_ == What::keys) {
    return to_python(entry.first);
  }
  if (what_ == What::values) {
    return to_python(entry.second);
  }
  return nb::make_tuple(to_python(entry.first), to_python(entry.second));
}

}  // namespace holdfast::bindings
