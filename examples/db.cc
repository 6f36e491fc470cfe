// SPDX-License-Identifier: Apache-2.0
//
// HoldfastDB, used like LevelDB, and one thing that LevelDB does not have: a transaction over
// several keys.
#include "holdfast/db/db.h"

#include <cstdio>
#include <memory>
#include <string>

namespace {

using namespace holdfast::db;

int fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

/// A Status that is not ok rolls the transaction back.
Status pay(DB& db, const std::string& from, const std::string& to, long amount) {
  return db.Transact([&](Transaction& t) -> Status {
    std::string text;
    if (const Status status = t.Get(from, &text); !status.ok()) {
      return status;
    }
    const long left = std::stol(text) - amount;
    if (left < 0) {
      return Status::InvalidArgument(from, "has too little");
    }
    const long had = t.Get(to, &text).ok() ? std::stol(text) : 0;
    t.Put(from, std::to_string(left));
    t.Put(to, std::to_string(had + amount));
    return Status::OK();
  });
}

void list(DB& db, const char* title, const Snapshot* snapshot) {
  ReadOptions options;
  options.snapshot = snapshot;
  const std::unique_ptr<Iterator> at(db.NewIterator(options));
  std::printf("%s:", title);
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    std::printf(" %s=%s", at->key().ToString().c_str(), at->value().ToString().c_str());
  }
  std::printf("\n");
}

int run(DB& db) {
  WriteBatch batch;
  batch.Put("ada", "100");
  batch.Put("bob", "20");
  batch.Delete("eve");
  if (const Status status = db.Write({}, &batch); !status.ok()) {
    return fail(status);
  }
  const Snapshot* before = db.GetSnapshot();
  if (const Status status = pay(db, "ada", "eve", 30); !status.ok()) {
    return fail(status);
  }
  const Status refused = pay(db, "bob", "eve", 50);
  std::printf("refused: %s\n", refused.ToString().c_str());
  list(db, "before", before);
  list(db, "now", nullptr);
  db.ReleaseSnapshot(before);
  std::string value;
  return refused.IsInvalidArgument() && db.Get({}, "eve", &value).ok() && value == "30" ? 0 : 1;
}

}  // namespace

int main() {
  Options options;
  options.create_if_missing = true;
  DB* opened = nullptr;
  if (const Status status = DB::Open(options, "db.heap", &opened); !status.ok()) {
    return fail(status);
  }
  const std::unique_ptr<DB> db(opened);
  return run(*db);
}
