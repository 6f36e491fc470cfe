// SPDX-License-Identifier: Apache-2.0
//
// HoldfastDB for Python. Python code never runs inside an engine's transaction: bodies work on an
// OptimisticTransaction, whose reads are short transactions of their own and whose commit is C++
// alone. So nobody who holds an engine's lock, or combines other threads' transactions, ever needs
// the interpreter's lock; a body runs on its own thread, and its exceptions are nobody else's.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "holdfast/bindings/db/gate.h"
#include "holdfast/db/db.h"
#include "holdfast/machine/native/threads/fork_guard.h"

namespace holdfast::bindings {

namespace nb = nanobind;

/// Raises the class of holdfast.errors that stands for this code.
[[noreturn]] void raise(const char* code, const std::string& message);
void check(const db::Status& status);

/// A key or value: bytes, str as UTF-8, or anything with a buffer. Bytes that may change meanwhile
/// are copied, the others are the caller's.
class Bytes {
 public:
  explicit Bytes(nb::handle from);
  operator db::Slice() const { return slice_; }  // NOLINT(google-explicit-constructor)

 private:
  db::Slice slice_;
  std::string copy_;
};

nb::bytes to_python(const std::string& bytes);

/// What has to end before the database does: iterators, snapshots, transactions. A forked child
/// never drops any.
class Dependent {
 public:
  virtual ~Dependent() = default;
  /// Deletes what it has of the database.
  virtual void drop() = 0;
};

/// An open database, shared by what was made from it.
class Database : public std::enable_shared_from_this<Database> {
 public:
  static std::shared_ptr<Database> open(const std::string& path, const db::Options& options);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  /// Calls work(DB&) without the interpreter's lock; its Status, and a closed database, are raised.
  template <class Work>
  void read(Work&& work) {
    refuse_in_child();
    db::Status status;
    auto answer = Gate::Answer::closed;
    {
      const nb::gil_scoped_release release;
      answer = gate_.enter();
      if (answer == Gate::Answer::entered) {
        const Gate::Exit exit(gate_, false);
        status = work(*db_);
      }
    }
    settle(answer);
    check(status);
  }
  /// The same for what writes; waits for the writer lock, unless `holder` has it.
  template <class Work>
  void write(Work&& work, const void* holder = nullptr) {
    refuse_in_child();
    if (read_only_) {
      raise("read-only", path_ + " was opened with read_only=True");
    }
    db::Status status;
    wait([&] { return gate_.enter_writing(holder); },
         [&] {
           const Gate::Exit exit(gate_, true);
           status = work(*db_);
         });
    check(status);
  }
  void lock_writers(const void* holder);
  void unlock_writers(const void* holder) { gate_.unlock_writers(holder); }

  /// Inside read().
  void add(Dependent* dependent);
  /// Drops it, unless close has. With the interpreter's lock, which is let go of meanwhile.
  void remove(Dependent* dependent);

  void close();
  bool closed() const { return !guard_.forked_child() && gate_.closed(); }
  bool forked_child() const { return guard_.forked_child(); }
  const std::string& path() const { return path_; }
  bool read_only() const { return read_only_; }

 private:
  Database(std::string path, std::unique_ptr<db::DB> opened, bool read_only)
      : path_(std::move(path)), db_(std::move(opened)), read_only_(read_only) {}

  void refuse_in_child() const;
  /// Raises what an answer other than `entered` means.
  void settle(Gate::Answer answer) const;
  /// Asks until the answer is not `not_yet`, seeing to signals in between; then works.
  template <class Ask, class Work>
  void wait(Ask&& ask, Work&& work) {
    for (;;) {
      auto answer = Gate::Answer::not_yet;
      {
        const nb::gil_scoped_release release;
        answer = ask();
        if (answer == Gate::Answer::entered) {
          work();
        }
      }
      if (answer != Gate::Answer::not_yet) {
        settle(answer);
        return;
      }
      if (PyErr_CheckSignals() != 0) {
        throw nb::python_error();
      }
    }
  }

  const std::string path_;
  std::unique_ptr<db::DB> db_;
  const bool read_only_;
  const native::ForkGuard guard_;
  Gate gate_;
  // No std::call_once: it would tie this module to thread-local words of libstdc++ in a way that
  // keeps it from being loaded once an exception was thrown in the other module.
  std::mutex ending_mutex_;
  bool ended_ = false;
  std::mutex dependents_mutex_;
  std::set<Dependent*> dependents_;
};

/// A state that stays readable until it is closed.
class Snapshot final : public Dependent {
 public:
  explicit Snapshot(std::shared_ptr<Database> database);
  ~Snapshot() override;
  void drop() override;
  void close() { database_->remove(this); }

  /// Calls work(DB&, const Snapshot*) as Database::read does.
  template <class Work>
  void read(Work&& work) {
    database_->read([&](db::DB& db) {
      const std::lock_guard lock(mutex_);
      return snapshot_ == nullptr ? db::Status::InvalidArgument("the snapshot is closed")
                                  : work(db, snapshot_);
    });
  }

 private:
  std::shared_ptr<Database> database_;
  std::mutex mutex_;
  db::DB* db_ = nullptr;
  const db::Snapshot* snapshot_ = nullptr;
};

}  // namespace holdfast::bindings
