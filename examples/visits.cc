// SPDX-License-Identifier: Apache-2.0
#include <holdfast/db/db.h>

#include <cstdio>

using namespace holdfast::db;

int main() {
  DB* db = nullptr;
  Status status = DB::Open({.create_if_missing = true}, "visits.db", &db);
  long visits = 0;
  status = !status.ok() ? status : db->Transact([&](Transaction& t) {
    std::string before = "0";
    t.Get("visits", &before);
    t.Put("visits", std::to_string(visits = std::stol(before) + 1));
  });
  std::printf("visit %ld: %s\n", visits, status.ToString().c_str());
  delete db;
}
