// SPDX-License-Identifier: Apache-2.0
//
// Transactions for Python.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "holdfast/bindings/db/database.h"

namespace holdfast::bindings {

/// An OptimisticTransaction for Python. An exclusive one takes the writer lock before its snapshot
/// and keeps it until it ends. So no other write changes a key that it has read, and its commit
/// succeeds.
///
/// Thread safety: any thread may call any function; a mutex admits one call at a time.
class Transaction final : public Dependent {
 public:
  Transaction(std::shared_ptr<Database> database, bool exclusive);
  ~Transaction() override;
  void drop() override;

  // A null map stands for the default map.

  /// Returns None if the key has no value.
  nb::object get(nb::handle key, const Map* map);
  void put(nb::handle key, nb::handle value, const Map* map);
  void erase(nb::handle key, const Map* map);
  /// Deletes a range, which has no limit on a side without a key. Returns the number of keys.
  size_t erase_range(const std::optional<std::string>& start,
                     const std::optional<std::string>& stop, const Map* map);
  /// Returns whether it committed. false: another transaction has changed a key that was read.
  bool commit();
  /// Ends the transaction, if it has not ended yet.
  void end();

  /// Calls work(OptimisticTransaction&), like Database::read.
  template <class Work>
  void use(Work&& work) {
    database_->read([&](db::DB& /*db*/) {
      const std::lock_guard lock(mutex_);
      return transaction_ == nullptr ? over() : work(*transaction_);
    });
  }
  /// Returns the number of writes so far. It changes inside use() only.
  uint64_t writes() const { return writes_; }
  /// Registers a walk, inside use(). The transaction's end drops it.
  void add(Dependent* walk) { walks_.insert(walk); }
  /// Drops a walk, unless the transaction has ended.
  void remove(Dependent* walk);

 private:
  static db::Status over() {
    return db::Status::InvalidArgument("the transaction is over; it ended with its body");
  }

  std::shared_ptr<Database> database_;
  std::atomic<uint64_t> writes_ = 0;
  std::mutex mutex_;
  db::OptimisticTransaction* transaction_ = nullptr;
  std::set<Dependent*> walks_;
};

/// Deletes a range, which has no limit on a side without a key. Returns the number of keys.
db::Status erase_range(db::Transaction& transaction, const Map* map,
                       const std::optional<std::string>& start,
                       const std::optional<std::string>& stop, size_t* deleted);

}  // namespace holdfast::bindings
