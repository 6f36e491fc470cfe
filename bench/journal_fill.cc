// SPDX-License-Identifier: Apache-2.0
//
// Measures puts without sync on a disk: each engine over a journal, and peers, in turns.
//
// A turn fills a new store with 16-byte keys, drawn at random, and 100-byte values, which compress
// to a half. The time of a put ends with its return. The bytes are what the process has given to
// the file system until everything put was durable (HoldfastDB) or in the log (peers):
//
//   journal   groups
//   pages     of checkpoints
//   rest      heads of the journal, superblocks, pages of the file system
//
//   journal_fill DIR [PUTS [TURNS [JOURNAL_MIB [LAG [ENGINES [PEERS]]]]]]
//
// Defaults: 1,000,000 puts, 3 turns, 256 MiB, 16384 writes, engine romulus-log, peer leveldb.
// Engines and peers are lists with commas.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/base/seconds_since.h"
#include "holdfast/db/db.h"
#include "holdfast/machine/types.h"
#include "holdfast/runner/db/peers.h"

namespace holdfast {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

void check(const db::Status& status) {
  if (!status.ok()) {
    fail(status.ToString());
  }
}

/// The bytes that the process has given to file systems on disks.
uint64_t bytes_given() {
  std::ifstream file("/proc/self/io");
  std::string name;
  for (uint64_t value = 0; file >> name >> value;) {
    if (name == "write_bytes:") {
      return value;
    }
  }
  return 0;
}

double processor_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

struct Turn {
  double us = 0;            // for a put
  double processor_us = 0;  // of all threads
  double journal = 0;       // bytes for a put, here and below
  double pages = 0;
  double all = 0;
};

struct Plan {
  std::string directory;
  uint64_t puts;
  size_t journal_bytes;
  uint64_t lag;
};

using Put = std::function<void(std::string_view key, std::string_view value)>;

/// Times the puts, then calls end().
Turn fill(const Plan& plan, uint64_t seed, const Put& put, const std::function<void()>& end) {
  Random random(seed);
  constexpr size_t kHalf = 50;
  std::string bytes(size_t{1} << 20, ' ');  // values are other pieces of it each time
  for (char& c : bytes) {
    c = static_cast<char>(random.below(256));
  }
  std::string value;
  const uint64_t before = bytes_given();
  const double processor = processor_seconds();
  const auto begin = Clock::now();
  for (uint64_t i = 0; i < plan.puts; ++i) {
    char key[24];  // of any number; the first 16 digits are the key
    std::snprintf(key, sizeof key, "%016llu",
                  static_cast<unsigned long long>(random.below(plan.puts)));
    const std::string_view half(bytes.data() + random.below(bytes.size() - kHalf), kHalf);
    value.assign(half).append(half);
    put({key, 16}, value);
  }
  const auto n = static_cast<double>(plan.puts);
  Turn turn;
  turn.us = 1e6 * seconds_since(begin) / n;
  end();
  turn.processor_us = 1e6 * (processor_seconds() - processor) / n;
  turn.all = static_cast<double>(bytes_given() - before) / n;
  return turn;
}

uint64_t property(db::DB& db, const std::string& name) {
  std::string text;
  db.GetProperty("holdfast.prometheus", &text);
  const size_t at = text.find("\nholdfast_db_journal_" + name + "{");
  return std::strtoull(text.c_str() + text.find("} ", at) + 2, nullptr, 10);
}

Turn fill_engine(const Plan& plan, const std::string& engine, uint64_t seed) {
  const std::string path = plan.directory + "/journal_fill.db";
  ::unlink(path.c_str());
  db::Options options;
  options.create_if_missing = true;
  options.engine = engine;
  options.domain = Domain::file;
  options.initial_bytes = 64 << 20;
  options.journal_bytes = plan.journal_bytes;
  options.lag = plan.lag;
  options.lag_ms = 1000;
  db::DB* opened = nullptr;
  check(db::DB::Open(options, path, &opened));
  const std::unique_ptr<db::DB> db(opened);
  db::WriteOptions later;
  later.sync = false;
  const auto put = [&](std::string_view key, std::string_view value) {
    check(db->Put(later, db::Slice(key.data(), key.size()), db::Slice(value.data(), value.size())));
  };
  Turn turn = fill(plan, seed, put, [&] { check(db->Sync()); });
  const auto n = static_cast<double>(plan.puts);
  turn.journal = static_cast<double>(property(*db, "written_bytes_total")) / n;
  turn.pages = static_cast<double>(property(*db, "home_bytes_total")) / n;
  ::unlink(path.c_str());
  return turn;
}

Turn fill_peer(const Plan& plan, const store_bench::Peer& peer, uint64_t seed) {
  const std::string path = plan.directory + "/journal_fill.peer";
  std::filesystem::remove_all(path);
  Turn turn;
  {
    const auto store = peer.open(path, 1);
    const auto client = store->client(false);
    turn = fill(
        plan, seed, [&](std::string_view key, std::string_view value) { client->put(key, value); },
        [] {});
  }
  std::filesystem::remove_all(path);
  return turn;
}

double median(const std::vector<Turn>& turns, double Turn::* member) {
  std::vector<double> values;
  for (const Turn& turn : turns) {
    values.push_back(turn.*member);
  }
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) {
    parts.push_back(part);
  }
  return parts;
}

struct Row {
  std::string name;
  std::function<Turn(uint64_t seed)> run;
  std::vector<Turn> turns;
};

int measure(const Plan& plan, int turns, const std::string& engines, const std::string& peers) {
  std::vector<Row> rows;
  for (const std::string& engine : split(engines)) {
    rows.push_back(
        {engine, [&, engine](uint64_t seed) { return fill_engine(plan, engine, seed); }, {}});
  }
  std::vector<store_bench::Peer> loaded;
  for (const std::string& name : split(peers)) {
    auto peer = store_bench::Peer::load(name, "");
    if (!peer) {
      fail(name + ": " + peer.status().message());
    }
    loaded.push_back(*peer);
    rows.push_back(
        {name, [&plan, peer = *peer](uint64_t seed) { return fill_peer(plan, peer, seed); }, {}});
  }
  for (int turn = 0; turn < turns; ++turn) {
    for (Row& row : rows) {
      row.turns.push_back(row.run(static_cast<uint64_t>(turn) + 1));
    }
  }
  std::printf(
      "%llu puts without sync, %d turns, journal of %zu MiB, lag of %llu; medians for a put\n",
      static_cast<unsigned long long>(plan.puts), turns, plan.journal_bytes >> 20,
      static_cast<unsigned long long>(plan.lag));
  for (const Row& row : rows) {
    const auto at = [&](double Turn::* member) { return median(row.turns, member); };
    const auto [least, most] =
        std::minmax_element(row.turns.begin(), row.turns.end(),
                            [](const Turn& a, const Turn& b) { return a.us < b.us; });
    std::printf(
        "%-12s %6.2f us (%.2f to %.2f), processor %.2f us; %.0f bytes: journal %.0f, pages "
        "%.0f, rest %.0f\n",
        row.name.c_str(), at(&Turn::us), least->us, most->us, at(&Turn::processor_us),
        at(&Turn::all), at(&Turn::journal), at(&Turn::pages),
        at(&Turn::all) - at(&Turn::journal) - at(&Turn::pages));
  }
  return 0;
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: journal_fill DIR [PUTS [TURNS [JOURNAL_MIB [LAG [ENGINES [PEERS]]]]]]\n");
    return 2;
  }
  const auto number = [&](int i, long long fallback) {
    return static_cast<uint64_t>(argc > i ? std::atoll(argv[i]) : fallback);
  };
  const holdfast::Plan plan = {argv[1], number(2, 1'000'000),
                               static_cast<size_t>(number(4, 256)) << 20, number(5, 16384)};
  return holdfast::measure(plan, static_cast<int>(number(3, 3)), argc > 6 ? argv[6] : "romulus-log",
                           argc > 7 ? argv[7] : "leveldb");
}
