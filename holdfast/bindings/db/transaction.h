// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "holdfast/bindings/db/database.h"

namespace holdfast::bindings {

/// An OptimisticTransaction in Python's hands. An exclusive one holds the writer lock from before
/// its snapshot is taken until it ends, so that its commit cannot find anything changed.
///
/// Thread safety: any thread, one call at a time inside.
class Transaction final : public Dependent {
 public:
  Transaction(std::shared_ptr<Database> database, bool exclusive);
  ~Transaction() override;
  void drop() override;

  /// None where there is no value.
  nb::object get(nb::handle key);
  void put(nb::handle key, nb::handle value);
  void erase(nb::handle key);
  /// Whether it committed; false: somebody changed what was read.
  bool commit();
  /// Ends it, if it has not ended yet.
  void end();

 private:
  /// Calls work(OptimisticTransaction&), as Database::read does.
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
