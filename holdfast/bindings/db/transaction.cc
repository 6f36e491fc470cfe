// SPDX-License-Identifier: Apache-2.0
#include "holdfast/bindings/db/transaction.h"

#include <vector>

namespace holdfast::bindings {

Transaction::Transaction(std::shared_ptr<Database> database, bool exclusive)
    : database_(std::move(database)) {
  if (exclusive) {
    database_->lock_writers(this);
  }
  try {
    database_->read([&](db::DB& db) {
      std::unique_ptr<db::OptimisticTransaction> begun(db.BeginTransaction());
      if (begun == nullptr) {
        return db::Status::IOError("no transaction could begin; the database may have failed");
      }
      database_->add(this);
      transaction_ = begun.release();
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
  for (Dependent* walk : walks_) {
    walk->drop();
  }
  walks_.clear();
  delete transaction_;
  transaction_ = nullptr;
}

nb::object Transaction::get(nb::handle key, const Map* map) {
  const Bytes name(key);
  std::string value;
  bool found = false;
  use([&](db::OptimisticTransaction& t) {
    const db::Status status = t.Get(family_of(map), name, &value);
    found = status.ok();
    return status.IsNotFound() ? db::Status::OK() : status;
  });
  return found ? nb::object(to_python(value)) : nb::none();
}

void Transaction::remove(Dependent* walk) {
  if (database_->forked_child()) {
    return;
  }
  const Unlocked unlocked;
  const std::lock_guard lock(mutex_);
  if (walks_.erase(walk) != 0) {
    walk->drop();
  }
}

void Transaction::put(nb::handle key, nb::handle value, const Map* map) {
  const Bytes name(key);
  const Bytes content(value);
  use([&](db::OptimisticTransaction& t) {
    ++writes_;
    t.Put(family_of(map), name, content);
    return db::Status::OK();
  });
}

size_t Transaction::erase_range(const std::optional<std::string>& start,
                                const std::optional<std::string>& stop, const Map* map) {
  size_t deleted = 0;
  use([&](db::OptimisticTransaction& t) {
    ++writes_;
    return bindings::erase_range(t, map, start, stop, &deleted);
  });
  return deleted;
}

void Transaction::erase(nb::handle key, const Map* map) {
  const Bytes name(key);
  use([&](db::OptimisticTransaction& t) {
    ++writes_;
    t.Delete(family_of(map), name);
    return db::Status::OK();
  });
}

db::Status erase_range(db::Transaction& transaction, const Map* map,
                       const std::optional<std::string>& start,
                       const std::optional<std::string>& stop, size_t* deleted) {
  std::vector<std::string> keys;
  const std::unique_ptr<db::Iterator> at(transaction.NewIterator(family_of(map)));
  for (start ? at->Seek(*start) : at->SeekToFirst();
       at->Valid() && (!stop || at->key().compare(*stop) < 0); at->Next()) {
    keys.push_back(at->key().ToString());
  }
  for (const std::string& key : keys) {
    transaction.Delete(family_of(map), key);
  }
  *deleted = keys.size();
  return at->status();
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
  database_->remove(this);
  database_->unlock_writers(this);
}

}  // namespace holdfast::bindings
