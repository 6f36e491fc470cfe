// SPDX-License-Identifier: Apache-2.0
//
// LMDB. Each write is a transaction. Without durability MDB_NOSYNC is set; a killed process then
// loses nothing. A read renews the thread's read transaction and sees the value in place, without a
// copy.
#include <lmdb.h>

#include <cstdio>
#include <mutex>
#include <stdexcept>

#include "bench/peers/plug_in.h"

namespace holdfast::store_bench {
namespace {

/// The limit of the file's size. It reserves address space, but no memory.
constexpr size_t kMapBytes = size_t{64} << 30;

void check(int result) {
  if (result != MDB_SUCCESS) {
    throw std::runtime_error(mdb_strerror(result));
  }
}

MDB_val in(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}

std::string_view out(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

class LmdbCursor final : public Cursor {
 public:
  LmdbCursor(MDB_txn* reader, MDB_dbi dbi) { check(mdb_cursor_open(reader, dbi, &at_)); }
  ~LmdbCursor() override { mdb_cursor_close(at_); }

  bool seek_first() override { return move(MDB_FIRST); }
  bool seek_last() override { return move(MDB_LAST); }
  bool seek(std::string_view key) override {
    key_ = in(key);
    return move(MDB_SET_RANGE);
  }
  bool next() override { return move(MDB_NEXT); }
  bool prev() override { return move(MDB_PREV); }
  std::string_view key() override { return out(key_); }
  std::string_view value() override { return out(value_); }

 private:
  bool move(MDB_cursor_op how) {
    const int result = mdb_cursor_get(at_, &key_, &value_, how);
    if (result == MDB_NOTFOUND) {
      return false;
    }
    check(result);
    return true;
  }

  MDB_cursor* at_ = nullptr;
  MDB_val key_{};
  MDB_val value_{};
};

class LmdbClient final : public Client {
 public:
  LmdbClient(MDB_env* env, MDB_dbi dbi) : env_(env), dbi_(dbi) {
    check(mdb_txn_begin(env, nullptr, MDB_RDONLY, &reader_));
    mdb_txn_reset(reader_);
  }
  ~LmdbClient() override { mdb_txn_abort(reader_); }

  void put(std::string_view key, std::string_view value) override {
    const Entry entry(key, value);
    write({&entry, 1});
  }
  void write(std::span<const Entry> entries) override {
    update([&](MDB_txn* txn) {
      for (const auto& [key, value] : entries) {
        MDB_val k = in(key);
        MDB_val v = in(value);
        check(mdb_put(txn, dbi_, &k, &v, 0));
      }
    });
  }
  void remove(std::string_view key) override {
    update([&](MDB_txn* txn) {
      MDB_val k = in(key);
      if (const int result = mdb_del(txn, dbi_, &k, nullptr); result != MDB_NOTFOUND) {
        check(result);
      }
    });
  }
  bool get(std::string_view key, std::string_view* value) override {
    renew();
    MDB_val k = in(key);
    MDB_val v{};
    const int result = mdb_get(reader_, dbi_, &k, &v);
    if (result == MDB_NOTFOUND) {
      return false;
    }
    check(result);
    *value = out(v);
    return true;
  }
  std::unique_ptr<Cursor> cursor() override {
    renew();
    return std::make_unique<LmdbCursor>(reader_, dbi_);
  }

 private:
  /// Ends the read transaction: while it is open, writers cannot reuse pages.
  void rest() {
    if (reading_) {
      mdb_txn_reset(reader_);
      reading_ = false;
    }
  }
  void renew() {
    rest();
    check(mdb_txn_renew(reader_));
    reading_ = true;
  }

  template <class Body>
  void update(Body&& body) {
    rest();
    MDB_txn* txn = nullptr;
    check(mdb_txn_begin(env_, nullptr, 0, &txn));
    try {
      body(txn);
    } catch (...) {
      mdb_txn_abort(txn);
      throw;
    }
    check(mdb_txn_commit(txn));
  }

  MDB_env* env_;
  MDB_dbi dbi_;
  MDB_txn* reader_ = nullptr;
  bool reading_ = false;
};

class LmdbStore final : public Store {
 public:
  LmdbStore(const std::string& path, int threads) {
    check(mdb_env_create(&env_));
    check(mdb_env_set_mapsize(env_, kMapBytes));
    check(mdb_env_set_maxreaders(env_, static_cast<unsigned>(threads) + 1));
    check(mdb_env_open(env_, path.c_str(), MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD, 0600));
    MDB_txn* txn = nullptr;
    check(mdb_txn_begin(env_, nullptr, 0, &txn));
    check(mdb_dbi_open(txn, nullptr, 0, &dbi_));
    check(mdb_txn_commit(txn));
    lock_file_ = path + "-lock";
  }
  ~LmdbStore() override {
    mdb_env_close(env_);
    static_cast<void>(std::remove(lock_file_.c_str()));
  }
  std::string survives(bool durable) const override { return durable ? "file" : "process"; }
  std::unique_ptr<Client> client(bool durable) override {
    const std::lock_guard lock(mutex_);
    check(mdb_env_set_flags(env_, MDB_NOSYNC, durable ? 0 : 1));
    return std::make_unique<LmdbClient>(env_, dbi_);
  }

 private:
  MDB_env* env_ = nullptr;
  MDB_dbi dbi_ = 0;
  std::mutex mutex_;
  std::string lock_file_;
};

const std::string& version() {
  static const std::string text = std::to_string(MDB_VERSION_MAJOR) + "." +
                                  std::to_string(MDB_VERSION_MINOR) + "." +
                                  std::to_string(MDB_VERSION_PATCH);
  return text;
}

}  // namespace
}  // namespace holdfast::store_bench

HOLDFAST_PEER(holdfast::store_bench::LmdbStore, holdfast::store_bench::version().c_str())
