// SPDX-License-Identifier: Apache-2.0
//
// Measures what open snapshots cost in HoldfastDB.
//
//   store_views [--engine NAME] [--file PATH] [--domain file|process] [--turns N] [--only PART]
//
//   iterator     opening, seeking and closing an iterator, without a snapshot and beside one that
//                holds 100,000 old versions; also its updates and fences
//   snapshots    100,000 snapshots of a key that is overwritten in between, released in any order
//   backup       a writer alone, and beside a thread that computes, makes copies of the database,
//                or walks over it
//   reads        gets, seeks and walks without snapshots
//
// Each line is a median over the turns. Iterators and reads are measured in processor time.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "holdfast/db/db.h"

namespace holdfast::db {
namespace {

constexpr int kKeys = 100'000;
constexpr int kSnapshots = 100'000;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double seconds(const std::function<void()>& f) {
  const double start = now();
  f();
  return now() - start;
}

/// The calling thread's processor time, which other processes disturb less than the wall clock.
double processor_now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double processor_seconds(const std::function<void()>& f) {
  const double start = processor_now();
  f();
  return processor_now() - start;
}

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

void check(const Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::exit(1);
  }
}

std::string key(int i) {
  char text[32];
  std::snprintf(text, sizeof(text), "key %09d", i);
  return text;
}

/// Returns a counter of the database's statistics.
double counter(DB& db, const std::string& name) {
  std::string text;
  db.GetProperty("holdfast.prometheus", &text);
  const size_t at = text.find("\nholdfast_db_" + name + "{");
  return std::stod(text.substr(text.find("} ", at) + 2));
}

class Bench {
 public:
  Bench(const Options& options, std::string file, int turns)
      : options_(options), file_(std::move(file)), turns_(turns) {}

  /// Runs one part, or all parts if the name is empty.
  void run(const std::string& only) {
    for (const auto& [name, part] : {std::pair("iterator", &Bench::iterators),
                                     {"snapshots", &Bench::snapshots},
                                     {"backup", &Bench::backup},
                                     {"reads", &Bench::reads}}) {
      if (only.empty() || only == name) {
        (this->*part)();
        std::fflush(stdout);
      }
    }
  }

 private:
  std::unique_ptr<DB> fresh() {
    DestroyDB(file_, options_);
    DB* db = nullptr;
    check(DB::Open(options_, file_, &db));
    return std::unique_ptr<DB>(db);
  }
  static void fill(DB& db, const std::string& value) {
    for (int i = 0; i < kKeys; i += 1000) {
      WriteBatch batch;
      for (int k = i; k < i + 1000; ++k) {
        batch.Put(key(k), value);
      }
      check(db.Write({}, &batch));
    }
  }
  /// Microseconds for each of up to `rounds` iterators; stops after half a second.
  static double per_iterator(DB& db, int rounds) {
    std::mt19937 random(1);
    const double start = processor_now();
    double end = start;
    int n = 0;
    while (n < rounds && end < start + 0.5) {
      const std::unique_ptr<Iterator> at(db.NewIterator({}));
      at->Seek(key(static_cast<int>(random() % kKeys)));
      if (++n % 100 == 0 || n < 100) {
        end = processor_now();
      }
    }
    return (processor_now() - start) / n * 1e6;
  }

  void iterators() {
    constexpr int kRounds = 20'000;
    const auto db = fresh();
    fill(*db, std::string(100, 'a'));
    fill(*db, std::string(100, 'b'));
    db->CompactRange(nullptr, nullptr);
    std::vector<double> without;
    for (int turn = 0; turn < turns_; ++turn) {
      without.push_back(per_iterator(*db, kRounds));
    }
    const Snapshot* const snapshot = db->GetSnapshot();
    fill(*db, std::string(100, 'c'));
    check(db->Put({}, key(0), "d"));
    const double updates = counter(*db, "updates_total");
    const double fences = counter(*db, "fences_total");
    const double first = per_iterator(*db, 1);
    const double first_updates = counter(*db, "updates_total") - updates;
    const double first_fences = counter(*db, "fences_total") - fences;
    std::vector<double> beside;
    for (int turn = 0; turn < turns_; ++turn) {
      beside.push_back(per_iterator(*db, kRounds));
    }
    std::printf("iterator: %.3f us without a snapshot, %.3f us beside one with %.0f old versions\n",
                median(without), median(beside), counter(*db, "old_versions"));
    std::printf("iterator: the first one %.1f us, %.0f updates, %.0f fences; all %.0f updates\n",
                first, first_updates, first_fences, counter(*db, "updates_total") - updates);
    std::fflush(stdout);
    db->ReleaseSnapshot(snapshot);
  }

  void snapshots() {
    for (const int n : {kSnapshots / 50, kSnapshots}) {
      const auto db = fresh();
      std::vector<const Snapshot*> all;
      const double take = seconds([&] {
        for (int i = 0; i < n; ++i) {
          check(db->Put({}, "hot", std::to_string(i)));
          all.push_back(db->GetSnapshot());
        }
      });
      std::mt19937 random(2);
      std::shuffle(all.begin(), all.end(), random);
      const double release = seconds([&] {
        for (const Snapshot* snapshot : all) {
          db->ReleaseSnapshot(snapshot);
        }
      });
      const double compact = seconds([&] { db->CompactRange(nullptr, nullptr); });
      std::printf(
          "snapshots: %d taken in %.3f s with as many puts, released in any order in %.3f s,"
          " compacted in %.3f s, %.0f old versions left\n",
          n, take, release, compact, counter(*db, "old_versions"));
      std::fflush(stdout);
      if (take + release > 60) {
        break;
      }
    }
  }

  /// Adds the writer's transactions per second, and its processor time for each, in us.
  struct Rates {
    std::vector<double> per_second;
    std::vector<double> processor;
  };
  void write(DB& db, const std::function<bool()>& go_on, Rates* to) {
    std::mt19937 random(3);
    int n = 0;
    const double processor = processor_now();
    const double time = seconds([&] {
      while (go_on()) {
        check(db.Put({}, key(static_cast<int>(random() % kKeys)), std::string(100, 'w')));
        ++n;
      }
    });
    to->per_second.push_back(n / time);
    to->processor.push_back((processor_now() - processor) / n * 1e6);
  }

  /// A writer beside a thread that runs `work`, until that returns.
  void write_beside(DB& db, const std::function<void()>& work, Rates* to) {
    std::atomic<bool> working{true};
    std::thread other([&] {
      work();
      working = false;
    });
    write(db, [&] { return working.load(); }, to);
    other.join();
  }

  void backup() {
    constexpr double kSeconds = 0.5;
    const auto db = fresh();
    fill(*db, std::string(100, 'a'));
    const auto compute = [] {
      for (const double end = now() + kSeconds; now() < end;) {
      }
    };
    const auto copy = [&] {
      for (const double end = now() + kSeconds; now() < end;) {
        check(db->Checkpoint(file_ + ".copy"));
        std::remove((file_ + ".copy").c_str());
      }
    };
    const auto walk = [&] {
      const std::unique_ptr<Iterator> at(db->NewIterator({}));
      for (const double end = now() + kSeconds; now() < end;) {
        Slice k;
        Slice v;
        at->SeekToFirst();
        while (at->NextEntry(&k, &v)) {
        }
      }
    };
    Rates alone;
    Rates computing;
    Rates copying;
    Rates walking;
    for (int turn = 0; turn < turns_; ++turn) {
      write(*db, [end = now() + kSeconds] { return now() < end; }, &alone);
      write_beside(*db, compute, &computing);
      write_beside(*db, copy, &copying);
      write_beside(*db, walk, &walking);
    }
    const auto print = [](const char* name, const Rates& rates) {
      std::printf("backup: %.0f puts/s %s, %.2f us of the writer's processor time for each\n",
                  median(rates.per_second), name, median(rates.processor));
    };
    print("alone", alone);
    print("beside a thread that computes", computing);
    print("beside a thread that makes copies", copying);
    print("beside a thread that walks", walking);
  }

  void reads() {
    constexpr int kRounds = 100'000;
    const auto db = fresh();
    fill(*db, std::string(100, 'a'));
    std::vector<double> gets;
    std::vector<double> seeks;
    std::vector<double> walks;
    std::vector<double> puts;
    std::string value;
    for (int turn = 0; turn < turns_; ++turn) {
      std::mt19937 random(4);
      gets.push_back(processor_seconds([&] {
                       for (int i = 0; i < kRounds; ++i) {
                         check(db->Get({}, key(static_cast<int>(random() % kKeys)), &value));
                       }
                     }) /
                     kRounds * 1e6);
      seeks.push_back(per_iterator(*db, kRounds));
      walks.push_back(processor_seconds([&] {
                        const std::unique_ptr<Iterator> at(db->NewIterator({}));
                        Slice k;
                        Slice v;
                        at->SeekToFirst();
                        while (at->NextEntry(&k, &v)) {
                        }
                      }) /
                      kKeys * 1e6);
      puts.push_back(processor_seconds([&] {
                       for (int i = 0; i < kRounds; ++i) {
                         check(db->Put({}, key(static_cast<int>(random() % kKeys)), value));
                       }
                     }) /
                     kRounds * 1e6);
      db->CompactRange(nullptr, nullptr);
    }
    std::printf("reads: get %.4f us, seek %.4f us, step %.4f us; put %.4f us\n", median(gets),
                median(seeks), median(walks), median(puts));
  }

  const Options options_;
  const std::string file_;
  const int turns_;
};

int main_of(int argc, char** argv) {
  Options options;
  options.create_if_missing = true;
  options.max_bytes = size_t{2} << 30;
  options.domain = Domain::process;
  std::string file = "/dev/shm/store_views.db";
  int turns = 5;
  std::string only;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--engine") {
      options.engine = value;
    } else if (name == "--file") {
      file = value;
    } else if (name == "--domain") {
      options.domain = value == "file" ? Domain::file : Domain::process;
    } else if (name == "--turns") {
      turns = std::stoi(value);
    } else if (name == "--only") {
      only = value;
    } else {
      std::fprintf(stderr, "unknown option %s\n", name.c_str());
      return 2;
    }
  }
  Bench(options, file, turns).run(only);
  DestroyDB(file, options);
  return 0;
}

}  // namespace
}  // namespace holdfast::db

int main(int argc, char** argv) {
  return holdfast::db::main_of(argc, argv);
}
