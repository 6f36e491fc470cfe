// SPDX-License-Identifier: Apache-2.0
//
// Compares engines on a disk, with and without a journal: which one suits the medium?
//
// Each database is in domain `file` and has 20,000 entries with 16-byte keys and 100-byte values,
// which clients overwrite at random, durably. All databases take turns, so that a disturbance of
// the computer affects all rows alike. Rates are medians over the turns, with the smallest and the
// largest. The last column has the gets per second of two threads beside two clients.
//
//   journal_engines DIR [JOURNAL_BYTES [TURNS [SECONDS [ENGINE...]]]]
//
// Files are in DIR; default 64 MiB, 5 turns of 0.25 s, engines that run over a journal.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/durable_store.h"

namespace holdfast {
namespace {

constexpr int kClients[] = {1, 4, 16, 32};
constexpr uint64_t kKeys = 20'000;

struct Row {
  std::string name;
  std::unique_ptr<DurableStore> store;
  std::map<int, std::vector<double>> puts;  // per second, by number of clients
  std::vector<double> gets;                 // per second, beside clients
};

std::string text_of(const std::vector<double>& rates) {
  char text[64];
  std::snprintf(text, sizeof text, "%.0f (%.0f to %.0f)", quantile(rates, 0.5), quantile(rates, 0),
                quantile(rates, 1));
  return text;
}

void take_turn(Row& row, double seconds) {
  Shared ignored;
  for (const int clients : kClients) {
    row.puts[clients].push_back(row.store->run(clients, seconds, ignored));
  }
  row.store->run(2, seconds, ignored, 2, &row.gets.emplace_back());
}

void print(const Row& row) {
  std::printf("| %s |", row.name.c_str());
  for (const auto& [clients, rates] : row.puts) {
    std::printf(" %s |", text_of(rates).c_str());
  }
  std::printf(" %s |\n", text_of(row.gets).c_str());
}

int measure(const std::string& directory, size_t journal_bytes, int turns, double seconds,
            const std::vector<std::string>& engines) {
  std::vector<Row> rows;
  for (const std::string& engine : engines) {
    for (const size_t bytes : {size_t{0}, journal_bytes}) {
      const std::string path = directory + "/journal_engines." + std::to_string(rows.size());
      rows.push_back(
          {engine + (bytes != 0 ? ", journal" : ""),
           std::make_unique<DurableStore>(path, DurableStore::Spec{engine, bytes, kKeys}),
           {},
           {}});
    }
  }
  for (int turn = 0; turn < turns; ++turn) {
    for (Row& row : rows) {
      take_turn(row, seconds);
    }
  }
  std::printf("| engine | 1 client | 4 | 16 | 32 | gets beside |\n|---|---|---|---|---|---|\n");
  for (const Row& row : rows) {
    print(row);
  }
  return 0;
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: journal_engines DIR [JOURNAL_BYTES [TURNS [SECONDS [ENGINE...]]]]\n");
    return 2;
  }
  std::vector<std::string> engines(argv + (argc > 5 ? 5 : argc), argv + argc);
  if (engines.empty()) {
    engines = {"romulus-log", "romulus-lr", "quadra", "fur-mv", "undo", "pmdk-like"};
  }
  return holdfast::measure(argv[1], argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 64 << 20,
                           argc > 3 ? std::atoi(argv[3]) : 5, argc > 4 ? std::atof(argv[4]) : 0.25,
                           engines);
}
