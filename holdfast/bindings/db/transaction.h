// SPDX-License-Identifier: Apache-2.0
//
// Transactions for Python.
#pragma once

#include <memory>
#include <mutex>
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

  /// Returns None if the key has no value.
  nb::object get(nb::handle key);
  void put(nb::handle key, nb::handle value);
  void erase(nb::handle key);
  /// Returns whether it committed. false: another transaction has changed a key that was read.
  bool commit();
  /// Ends the transaction, if it has not ended yet.
  void end();

 private:
  /// Calls work(OptimisticTransaction&), like Database::read.
  template <class Work>
  void use(Work&& work) {
    database_->read([&](db::DB& /*db*/) {
      const std::lock_guard lock(mutex_);
      return transaction_ == nullptr ? over() : work(*transaction_);
    });
  }
  static db::Status over() {
    return db::Status::InvalidArgument("the transaction is over; it ended with its body");
  }

  std::shared_ptr<Database> database_;
  std::mutex mutex_;
  db::OptimisticTransaction* transaction_ = nullptr;
};

}  // namespace holdfast::bindings
