// SPDX-License-Identifier: Apache-2.0
#include "holdfast/bindings/db/transaction.h"

namespace holdfast::bindings {

Transaction::Transaction(std::shared_ptr<Database> database, bool exclusive)
    : database_(std::move(database)) {
  if (exclusive) {
    database_->lock_writers(this);
  }
  try {
    database_->read([&](db::DB& db) {
      transaction_ = db.BeginTransaction();
      if (transaction_ == nullptr) {
        return db::Status::IOError("no transaction could begin; the database may have failed");
      }
      database_->add(this);
      return db::Status::OK();
    });
  } catch (...) {
    database_->unlock_writers(this);
    throw;
  }
}

Transaction::~Transaction() {
  end();
}

void Transaction::drop() {
  const std::lock_guard lock(mutex_);
  delete transaction_;
  transaction_ = nullptr;
}

nb::object Transaction::get(nb::handle key) {
  const Bytes name(key);
  std::string value;
  bool found = false;
  use([&](db::OptimisticTransaction& t) {
    const db::Status status = t.Get(name, &value);
    found = status.ok();
    return status.IsNotFound() ? db::Status::OK() : status;
  });
  return found ? nb::object(to_python(value)) : nb::none();
}

void Transaction::put(nb::handle key, nb::handle value) {
  const Bytes name(key);
  const Bytes content(value);
  use([&](db::OptimisticTransaction& t) {
    t.Put(name, content);
    return db::Status::OK();
  });
}

void Transaction::erase(nb::handle key) {
  const Bytes name(key);
  use([&](db::OptimisticTransaction& t) {
    t.Delete(name);
    return db::Status::OK();
  });
}

bool Transaction::commit() {
  bool committed = false;
  database_->write(
      [&](db::DB& /*db*/) {
        const std::lock_guard lock(mutex_);
        return transaction_ == nullptr ? over() : transaction_->Commit(&committed);
      },
      this);
  return committed;
}

void Transaction::end() {
  if (!database_->forked_child()) {
    database_->remove(this);
    database_->unlock_writers(this);
  }
}

}  // namespace holdfast::bindings
