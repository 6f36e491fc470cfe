// SPDX-License-Identifier: Apache-2.0
#include "holdfast/bindings/db/entries.h"

#include <algorithm>
#include <iterator>

namespace holdfast::bindings {

Entries::Entries(std::shared_ptr<Database> database, Snapshot* snapshot,
                 std::optional<std::string> start, std::optional<std::string> stop, bool reverse,
                 What what)
    : database_(std::move(database)),
      start_(std::move(start)),
      stop_(std::move(stop)),
      reverse_(reverse),
      what_(what) {
  auto make = [&](db::DB& db, const db::Snapshot* as_of) {
    db::ReadOptions options;
    options.snapshot = as_of;
    at_ = db.NewIterator(options);
    database_->add(this);
    return db::Status::OK();
  };
  if (snapshot != nullptr) {
    snapshot->read(make);
  } else {
    database_->read([&](db::DB& db) { return make(db, nullptr); });
  }
}

Entries::~Entries() {
  database_->remove(this);
}

void Entries::drop() {
  const std::lock_guard lock(mutex_);
  delete at_;
  at_ = nullptr;
}

void Entries::begin() {
  if (!reverse_) {
    start_ ? at_->Seek(*start_) : at_->SeekToFirst();
    return;
  }
  if (stop_) {
    at_->Seek(*stop_);
    if (at_->Valid()) {
      at_->Prev();
      return;
    }
  }
  if (at_->status().ok()) {
    at_->SeekToLast();
  }
}

bool Entries::in_range() const {
  return at_->Valid() && (reverse_ ? !start_ || at_->key().compare(*start_) >= 0
                                   : !stop_ || at_->key().compare(*stop_) < 0);
}

db::Status Entries::fill(std::deque<KeyAndValue>* ahead) {
  if (at_ == nullptr || ended_) {
    return db::Status::OK();
  }
  size_t bytes = 0;
  for (size_t n = 0; n < next_size_ && bytes < kMostBytesAhead; ++n) {
    if (!begun_) {
      begin();
      begun_ = true;
    } else {
      reverse_ ? at_->Prev() : at_->Next();
    }
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

nb::object Entries::next() {
  if (ahead_.empty() && !over_) {
    std::deque<KeyAndValue> more;
    database_->read([&](db::DB& /*db*/) {
      const std::lock_guard lock(mutex_);
      return fill(&more);
    });
    std::move(more.begin(), more.end(), std::back_inserter(ahead_));
  }
  if (ahead_.empty()) {
    over_ = true;
    database_->remove(this);  // frees its view now, not when Python collects this object
    throw nb::stop_iteration();
  }
  const KeyAndValue entry = std::move(ahead_.front());
  ahead_.pop_front();
  if (what_ == What::keys) {
    return to_python(entry.first);
  }
  if (what_ == What::values) {
    return to_python(entry.second);
  }
  return nb::make_tuple(to_python(entry.first), to_python(entry.second));
}

}  // namespace holdfast::bindings
