// SPDX-License-Identifier: Apache-2.0
//
// HoldfastDB for Python.
//
// Python code never runs inside an engine's transaction. A Python body works on an
// OptimisticTransaction: each read is a short transaction of its own, and the commit runs only C++.
// So a thread that holds an engine's lock, or combines other threads' transactions, never needs the
// interpreter's lock. A body runs on its own thread, and only that thread sees its exceptions.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "holdfast/bindings/db/gate.h"
#include "holdfast/bindings/db/unlocked.h"
#include "holdfast/db/db.h"
#include "holdfast/machine/native/threads/fork_guard.h"

namespace holdfast::bindings {

namespace nb = nanobind;

/// Raises the exception of holdfast.errors for this code. `system_error` is the errno of a failed
/// system call on the file `path`, or 0.
[[noreturn]] void raise(const char* code, const std::string& message, int system_error = 0,
                        const std::string& path = {});
/// Raises the exception of a status that is not ok. `path`: the file of a failed system call.
void check(const db::Status& status, const std::string& path = {});

/// A key or value from Python: bytes, a str as UTF-8, or an object with a buffer. It copies a
/// buffer, which may change meanwhile, and refers to the bytes of the others.
class Bytes {
 public:
  explicit Bytes(nb::handle from);
  operator db::Slice() const { return slice_; }  // NOLINT(google-explicit-constructor)

 private:
  db::Slice slice_;
  std::string copy_;
};

nb::bytes to_python(const std::string& bytes);

/// An object that must end before its database: an iterator, snapshot or transaction. A forked
/// child process drops none.
class Dependent {
 public:
  virtual ~Dependent() = default;
  /// Deletes the parts that belong to the database.
  virtual void drop() = 0;
};

/// An open database. The objects that were made from it share it.
///
/// Thread safety: any thread may call any function, with the interpreter's lock. Calls that wait
/// let go of the lock meanwhile.
class Database : public std::enable_shared_from_this<Database> {
 public:
  /// `verify_reads`: reads outside of transactions ask for checksums.
  static std::shared_ptr<Database> open(const std::string& path, const db::Options& options,
                                        bool verify_reads);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  /// Calls work(DB&) without the interpreter's lock. Raises its Status, or that the database is
  /// closed. `file`: the file of a failed system call; empty: the database's.
  template <class Work>
  void read(Work&& work, const std::string& file = {}) {
    refuse_in_child();
    db::Status status;
    auto answer = Gate::Answer::closed;
    {
      const Unlocked unlocked;
      answer = gate_.enter();
      if (answer == Gate::Answer::entered) {
        const Gate::Exit exit(gate_, false);
        status = work(*db_);
      }
    }
    settle(answer);
    check(status, file.empty() ? path_ : file);
  }
  /// Calls work(DB&), which writes. Waits while another holder has the writer lock.
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
    check(status, path_);
  }
  /// Takes the writer lock for `holder`: other writes wait until unlock_writers.
  void lock_writers(const void* holder);
  void unlock_writers(const void* holder) {
    if (!forked_child()) {  // there the gate's lock may stay held for ever
      gate_.unlock_writers(holder);
    }
  }

  /// Registers a dependent, inside read().
  void add(Dependent* dependent);
  /// Drops a dependent, unless close() has. Lets go of the interpreter's lock meanwhile.
  void remove(Dependent* dependent);

  /// Waits for calls in progress, drops all dependents and closes the database.
  void close();
  bool closed() const { return !guard_.forked_child() && gate_.closed(); }
  bool forked_child() const { return guard_.forked_child(); }
  const std::string& path() const { return path_; }
  bool read_only() const { return read_only_; }
  /// Returns the options for a read of the present state (null), or of that of the snapshot.
  db::ReadOptions reading(const db::Snapshot* as_of) const {
    db::ReadOptions options;
    options.verify_checksums = verify_reads_;
    options.snapshot = as_of;
    return options;
  }

 private:
  Database(std::string path, std::unique_ptr<db::DB> opened, bool read_only, bool verify_reads)
      : path_(std::move(path)),
        db_(std::move(opened)),
        read_only_(read_only),
        verify_reads_(verify_reads) {}

  /// close() without the interpreter's lock.
  void finish();
  void refuse_in_child() const;
  /// Raises the exception of an answer other than `entered`.
  void settle(Gate::Answer answer) const;
  /// Calls ask() until its answer is not `not_yet`, and handles signals in between. Calls work() if
  /// the answer is `entered`.
  template <class Ask, class Work>
  void wait(Ask&& ask, Work&& work) {
    for (;;) {
      auto answer = Gate::Answer::not_yet;
      {
        const Unlocked unlocked;
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
  const bool verify_reads_;
  const native::ForkGuard guard_;
  Gate gate_;
  // Not std::call_once. It refers to thread-local words of libstdc++ in such a way that this module
  // could not be loaded after the other module has thrown an exception.
  std::mutex ending_mutex_;
  bool ended_ = false;
  std::mutex dependents_mutex_;
  std::set<Dependent*> dependents_;
};

/// The handle of a named map. It may outlive its database.
class Map {
 public:
  explicit Map(std::unique_ptr<db::ColumnFamilyHandle> family) : family_(std::move(family)) {}
  const db::ColumnFamilyHandle* family() const { return family_.get(); }
  db::ColumnFamilyHandle* family() { return family_.get(); }

 private:
  std::unique_ptr<db::ColumnFamilyHandle> family_;
};

/// Returns the handle for the calls of DB. A null map stands for the default map.
inline const db::ColumnFamilyHandle* family_of(const Map* map) {
  return map == nullptr ? nullptr : map->family();
}

/// A snapshot of the database, readable until it is closed.
class Snapshot final : public Dependent {
 public:
  explicit Snapshot(std::shared_ptr<Database> database);
  ~Snapshot() override;
  void drop() override;
  void close() { database_->remove(this); }

  /// Calls work(DB&, const Snapshot*), like Database::read.
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
