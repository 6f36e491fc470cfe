// SPDX-License-Identifier: Apache-2.0
//
// The peer for LevelDB and RocksDB, whose interfaces differ only in the namespace and in reading
// values.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "holdfast/runner/db/store.h"

namespace holdfast::store_bench {

template <class Status>
void check(const Status& status) {
  if (!status.ok()) {
    throw std::runtime_error(status.ToString());
  }
}

/// Kit names the store's types: DB, Iterator, Slice, WriteBatch, WriteOptions, ReadOptions, and
/// Value, which Kit::get fills.
template <class Kit>
class LogStructuredCursor final : public Cursor {
 public:
  explicit LogStructuredCursor(typename Kit::DB& db) : at_(db.NewIterator({})) {}

  bool seek_first() override { return at_->SeekToFirst(), there(); }
  bool seek_last() override { return at_->SeekToLast(), there(); }
  bool seek(std::string_view key) override { return at_->Seek({key.data(), key.size()}), there(); }
  bool next() override { return at_->Next(), there(); }
  bool prev() override { return at_->Prev(), there(); }
  std::string_view key() override { return {at_->key().data(), at_->key().size()}; }
  std::string_view value() override { return {at_->value().data(), at_->value().size()}; }

 private:
  bool there() {
    if (!at_->Valid()) {
      check(at_->status());
      return false;
    }
    return true;
  }

  std::unique_ptr<typename Kit::Iterator> at_;
};

template <class Kit>
class LogStructuredClient final : public Client {
 public:
  LogStructuredClient(typename Kit::DB& db, bool durable) : db_(db) { how_.sync = durable; }

  void put(std::string_view key, std::string_view value) override {
    check(db_.Put(how_, slice(key), slice(value)));
  }
  void write(std::span<const Entry> entries) override {
    typename Kit::WriteBatch batch;
    for (const auto& [key, value] : entries) {
      batch.Put(slice(key), slice(value));
    }
    check(db_.Write(how_, &batch));
  }
  void remove(std::string_view key) override { check(db_.Delete(how_, slice(key))); }
  bool get(std::string_view key, std::string_view* value) override {
    const auto status = Kit::get(db_, slice(key), &value_);
    if (status.IsNotFound()) {
      return false;
    }
    check(status);
    *value = {value_.data(), value_.size()};
    return true;
  }
  std::unique_ptr<Cursor> cursor() override {
    return std::make_unique<LogStructuredCursor<Kit>>(db_);
  }

 private:
  static typename Kit::Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

  typename Kit::DB& db_;
  typename Kit::WriteOptions how_;
  typename Kit::Value value_;
};

template <class Kit>
class LogStructuredStore : public Store {
 public:
  std::string survives(bool durable) const override { return durable ? "file" : "process"; }
  std::unique_ptr<Client> client(bool durable) override {
    return std::make_unique<LogStructuredClient<Kit>>(*db_, durable);
  }

 protected:
  std::unique_ptr<typename Kit::DB> db_;
};

}  // namespace holdfast::store_bench
