// SPDX-License-Identifier: Apache-2.0
//
// Measures batches of HoldfastDB that are larger than an engine's log.
//
//   store_batches [--engines A,B] [--pairs N,N] [--value BYTES] [--file PATH]
//                 [--domain file|process] [--turns N] [--again N]
//
// For each engine and number of pairs: a new database, and one batch of that many small pairs
// (--value 0: "v" and the number), in a random order of keys. With --again it writes the same keys
// again that often. A line has the medians over the turns: seconds, microseconds per pair, the size
// of the file, and the most memory that the process has used.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "holdfast/db/db.h"

namespace holdfast::db {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    parts.push_back(part);
  }
  return parts;
}

struct Setting {
  Options options;
  std::string file = "/dev/shm/store_batches.db";
  size_t value_bytes = 0;
  int turns = 3;
  int again = 0;
};

/// The seconds of each batch, or the error.
struct Times {
  std::string error;
  std::vector<double> seconds;
};

Times write_batches(const Setting& s, int pairs) {
  Times times;
  DestroyDB(s.file, s.options);
  DB* opened = nullptr;
  Status status = DB::Open(s.options, s.file, &opened);
  const std::unique_ptr<DB> db(opened);
  std::vector<int> order(static_cast<size_t>(pairs));
  for (int i = 0; i < pairs; ++i) {
    order[static_cast<size_t>(i)] = i;
  }
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  for (int round = 0; round <= s.again && status.ok(); ++round) {
    WriteBatch batch;
    for (const int i : order) {
      char key[32];
      std::snprintf(key, sizeof(key), "key%09d", i);
      batch.Put(key, s.value_bytes == 0 ? "v" + std::to_string(i + round)
                                        : std::string(s.value_bytes, 'v'));
    }
    const double start = now();
    status = db->Write({}, &batch);
    times.seconds.push_back(now() - start);
  }
  times.error = status.ok() ? "" : status.ToString();
  return times;
}

void print(const Setting& s, int pairs, const std::vector<Times>& all) {
  std::printf("%-12s %8d pairs", s.options.engine.c_str(), pairs);
  if (!all.back().error.empty()) {
    std::printf("  %s\n", all.back().error.c_str());
    return;
  }
  for (size_t round = 0; round < all.front().seconds.size(); ++round) {
    std::vector<double> of_round;
    for (const Times& times : all) {
      of_round.push_back(times.seconds[round]);
    }
    std::printf("  %8.3f s %6.2f us", median(of_round), median(of_round) / pairs * 1e6);
  }
  struct stat file = {};
  stat(s.file.c_str(), &file);
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("  file %5ld MiB, memory %5ld MiB\n", static_cast<long>(file.st_size >> 20),
              usage.ru_maxrss >> 10);
}

/// Runs the turns in a child process, so that its memory is its own.
void measure(const Setting& s, int pairs) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    std::vector<Times> all;
    for (int turn = 0; turn < s.turns; ++turn) {
      all.push_back(write_batches(s, pairs));
    }
    print(s, pairs, all);
    DestroyDB(s.file, s.options);
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) {
    std::printf("%-12s %8d pairs  the process died\n", s.options.engine.c_str(), pairs);
  }
}

int main_of(int argc, char** argv) {
  Setting s;
  s.options.create_if_missing = true;
  s.options.domain = Domain::process;
  std::vector<std::string> engines = {"romulus-log", "romulus-lr", "quadra", "fur-mv"};
  std::vector<std::string> pairs = {"10000", "100000", "1000000"};
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--engines") {
      engines = split(value);
    } else if (name == "--pairs") {
      pairs = split(value);
    } else if (name == "--value") {
      s.value_bytes = std::stoul(value);
    } else if (name == "--file") {
      s.file = value;
    } else if (name == "--domain") {
      s.options.domain = value == "file" ? Domain::file : Domain::process;
    } else if (name == "--turns") {
      s.turns = std::stoi(value);
    } else if (name == "--again") {
      s.again = std::stoi(value);
    } else {
      std::fprintf(stderr, "unknown option %s\n", name.c_str());
      return 2;
    }
  }
  for (const std::string& engine : engines) {
    for (const std::string& count : pairs) {
      s.options.engine = engine;
      measure(s, std::stoi(count));
    }
  }
  return 0;
}

}  // namespace
}  // namespace holdfast::db

int main(int argc, char** argv) {
  return holdfast::db::main_of(argc, argv);
}
