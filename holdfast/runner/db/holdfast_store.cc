// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/db/holdfast_store.h"

#include "holdfast/db/db.h"
#include "holdfast/runner/sessions/engine_table.h"

namespace holdfast::store_bench {
namespace {

void check(const db::Status& status) {
  if (!status.ok()) {
    throw Error(Status(status.code(), status.message()));
  }
}

class HoldfastCursor final : public Cursor {
 public:
  explicit HoldfastCursor(db::DB& db) : at_(db.NewIterator({})) {}

  bool seek_first() override { return at_->SeekToFirst(), there(); }
  bool seek_last() override { return at_->SeekToLast(), there(); }
  bool seek(std::string_view key) override { return at_->Seek(key), there(); }
  bool next() override { return at_->NextEntry(&key_, &value_) || ended(); }
  bool prev() override { return at_->PrevEntry(&key_, &value_) || ended(); }
  std::string_view key() override { return {key_.data(), key_.size()}; }
  std::string_view value() override { return {value_.data(), value_.size()}; }

 private:
  bool there() {
    if (!at_->Valid()) {
      return ended();
    }
    key_ = at_->key();
    value_ = at_->value();
    return true;
  }
  bool ended() {
    check(at_->status());
    return false;
  }

  std::unique_ptr<db::Iterator> at_;
  db::Slice key_;
  db::Slice value_;
};

class HoldfastClient final : public Client {
 public:
  /// Takes the thread's slot, as its first call would. That is no part of an operation; nor is the
  /// reader that a client of LMDB begins, or the connection that a client of SQLite opens.
  HoldfastClient(db::DB& db, bool sync) : db_(db) {
    writing_.sync = sync;
    db_.ReleaseSnapshot(db_.GetSnapshot());
  }

  void put(std::string_view key, std::string_view value) override {
    check(db_.Put(writing_, key, value));
  }
  void write(std::span<const Entry> entries) override {
    db::WriteBatch batch;
    for (const auto& [key, value] : entries) {
      batch.Put(key, value);
    }
    check(db_.Write(writing_, &batch));
  }
  void remove(std::string_view key) override { check(db_.Delete(writing_, key)); }
  bool get(std::string_view key, std::string_view* value) override {
    const db::Status status = db_.Get({}, key, &value_);
    if (status.IsNotFound()) {
      return false;
    }
    check(status);
    *value = value_;
    return true;
  }
  std::unique_ptr<Cursor> cursor() override { return std::make_unique<HoldfastCursor>(db_); }

 private:
  db::DB& db_;
  db::WriteOptions writing_;
  std::string value_;
};

class HoldfastStore final : public Store {
 public:
  HoldfastStore(const HoldfastSpec& spec, const std::string& path, int threads) : lag_(spec.lag) {
    db::Options options;
    options.create_if_missing = true;
    options.error_if_exists = true;
    options.engine = spec.engine;
    // Leaves out options of other engines.
    const NativeEngine* engine = find_native_engine(spec.engine).value();
    options.engine_options = engine_options(*engine->description, spec.options);
    options.initial_bytes = kGrowth;
    options.journal_bytes = spec.journal_bytes;
    options.max_threads = threads + 2;  // the caller, and a slot that is kept for further threads
    options.domain = spec.domain;
    options.force = true;  // survives() says that it is emulated
    db::DB* opened = nullptr;
    check(db::DB::Open(options, path, &opened));
    db_.reset(opened);
  }

  std::string survives(bool durable) const override {
    std::string domain;
    std::string lag;
    db_->GetProperty("holdfast.domain", &domain);
    db_->GetProperty("holdfast.lag", &lag);
    return sync(durable) || lag == "0" ? domain : domain + " but for the last " + lag;
  }
  std::unique_ptr<Client> client(bool durable) override {
    return std::make_unique<HoldfastClient>(*db_, sync(durable));
  }

 private:
  static constexpr size_t kGrowth = size_t{64} << 20;

  bool sync(bool durable) const { return durable || !lag_; }

  const bool lag_;

  std::unique_ptr<db::DB> db_;
};

}  // namespace

std::unique_ptr<Store> open_holdfast(const HoldfastSpec& spec, const std::string& path,
                                     int threads) {
  return std::make_unique<HoldfastStore>(spec, path, threads);
}

}  // namespace holdfast::store_bench
