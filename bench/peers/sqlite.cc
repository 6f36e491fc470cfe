// SPDX-License-Identifier: Apache-2.0
//
// SQLite with a write-ahead log, a table of keys and values without row numbers, one connection per
// thread, prepared statements, and a mapped file. With durability synchronous is FULL. Without it
// synchronous is OFF; a killed process then loses nothing.
#include <sqlite3.h>

#include <stdexcept>

#include "bench/peers/plug_in.h"

namespace holdfast::store_bench {
namespace {

constexpr int kPatienceMs = 60'000;

/// A prepared statement.
class Statement {
 public:
  Statement(sqlite3* db, const char* text) : db_(db) {
    if (sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr) !=
        SQLITE_OK) {
      fail();
    }
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Binds bytes without a copy; they must live until the statement has been run.
  void bind(int place, std::string_view bytes) {
    sqlite3_bind_blob64(statement_, place, bytes.empty() ? "" : bytes.data(), bytes.size(),
                        SQLITE_STATIC);
  }
  /// Executes a step and returns whether there is a row.
  bool step() {
    const int result = sqlite3_step(statement_);
    if (result != SQLITE_ROW && result != SQLITE_DONE) {
      fail();
    }
    return result == SQLITE_ROW;
  }
  std::string_view column(int n) {
    const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(statement_, n));
    return {bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, n))};
  }
  void reset() { sqlite3_reset(statement_); }
  void run() {
    step();
    reset();
  }

 private:
  [[noreturn]] void fail() {
    const std::string what = sqlite3_errmsg(db_);
    reset();
    throw std::runtime_error(what);
  }

  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
};

class Connection {
 public:
  Connection(const std::string& path, bool durable) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path.c_str(), &db_, flags, nullptr) != SQLITE_OK) {
      const std::string what = sqlite3_errmsg(db_);
      sqlite3_close(db_);
      throw std::runtime_error(what);
    }
    sqlite3_busy_timeout(db_, kPatienceMs);
    execute("PRAGMA journal_mode=WAL");
    execute("PRAGMA mmap_size=1073741824");
    execute(durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=OFF");
  }
  ~Connection() { sqlite3_close(db_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void execute(const char* text) {
    if (sqlite3_exec(db_, text, nullptr, nullptr, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sqlite3_errmsg(db_));
    }
  }
  sqlite3* get() { return db_; }

 private:
  sqlite3* db_ = nullptr;
};

class SqliteCursor final : public Cursor {
 public:
  SqliteCursor(Statement& forwards, Statement& backwards)
      : forwards_(forwards), backwards_(backwards) {}
  ~SqliteCursor() override {
    forwards_.reset();
    backwards_.reset();
  }

  bool seek_first() override { return seek(""); }
  bool seek_last() override {
    at_ = &backwards_;
    at_->reset();
    return at_->step();
  }
  bool seek(std::string_view key) override {
    start_ = key;
    at_ = &forwards_;
    at_->reset();
    at_->bind(1, start_);
    return at_->step();
  }
  bool next() override { return go_on(forwards_); }
  bool prev() override { return go_on(backwards_); }
  std::string_view key() override { return at_->column(0); }
  std::string_view value() override { return at_->column(1); }

 private:
  bool go_on(const Statement& wanted) {
    if (at_ != &wanted) {
      throw std::logic_error("this cursor moves only in the direction in which it began");
    }
    return at_->step();
  }

  Statement& forwards_;
  Statement& backwards_;
  Statement* at_ = nullptr;
  std::string start_;
};

class SqliteClient final : public Client {
 public:
  SqliteClient(const std::string& path, bool durable) : connection_(path, durable) {}
  ~SqliteClient() override { rest(); }

  void put(std::string_view key, std::string_view value) override {
    rest();
    put_.bind(1, key);
    put_.bind(2, value);
    put_.run();
  }
  void write(std::span<const Entry> entries) override {
    rest();
    begin_.run();
    for (const auto& [key, value] : entries) {
      put_.bind(1, key);
      put_.bind(2, value);
      put_.run();
    }
    commit_.run();
  }
  void remove(std::string_view key) override {
    rest();
    remove_.bind(1, key);
    remove_.run();
  }
  bool get(std::string_view key, std::string_view* value) override {
    rest();
    get_.bind(1, key);
    reading_ = true;
    if (!get_.step()) {
      return false;
    }
    *value = get_.column(0);
    return true;
  }
  std::unique_ptr<Cursor> cursor() override {
    rest();
    return std::make_unique<SqliteCursor>(forwards_, backwards_);
  }

 private:
  /// Ends a read before a write: a connection cannot write while it reads an older state.
  void rest() {
    if (reading_) {
      get_.reset();
      reading_ = false;
    }
  }

  Connection connection_;
  sqlite3* db_ = connection_.get();
  Statement put_{db_, "INSERT INTO kv VALUES(?,?) ON CONFLICT(k) DO UPDATE SET v=excluded.v"};
  Statement remove_{db_, "DELETE FROM kv WHERE k=?"};
  Statement get_{db_, "SELECT v FROM kv WHERE k=?"};
  Statement forwards_{db_, "SELECT k,v FROM kv WHERE k>=? ORDER BY k"};
  Statement backwards_{db_, "SELECT k,v FROM kv ORDER BY k DESC"};
  Statement begin_{db_, "BEGIN IMMEDIATE"};
  Statement commit_{db_, "COMMIT"};
  bool reading_ = false;
};

class SqliteStore final : public Store {
 public:
  SqliteStore(const std::string& path, int /*threads*/) : path_(path), keeper_(path, false) {
    keeper_.execute("CREATE TABLE kv(k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID");
  }
  std::string survives(bool durable) const override { return durable ? "file" : "process"; }
  std::unique_ptr<Client> client(bool durable) override {
    return std::make_unique<SqliteClient>(path_, durable);
  }

 private:
  std::string path_;
  Connection keeper_;  // stays open, so that SQLite keeps the log between two clients
};

}  // namespace
}  // namespace holdfast::store_bench

HOLDFAST_PEER(holdfast::store_bench::SqliteStore, sqlite3_libversion())
