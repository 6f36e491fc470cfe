// SPDX-License-Identifier: Apache-2.0
//
// Compares PMDK's libpmemobj with Holdfast: durable transactions of one thread, with real
// write-backs and fences over a memory-backed file. The two run alternately.
//
//   pmemobj_ratio [rounds]
//
// The figures are processor time, because one thread waits for no other and other programs may run.
// libpmemobj has no isolation. With one thread neither library pays for isolation, except for
// Holdfast's own locks.
//
// The workloads are those of `holdfast bench sps` and `bench map --param structure=fixed`, with the
// same sizes, key ranges and mixes. Words are added to libpmemobj's log one by one, as its class
// p<> does.
#include <libpmemobj.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/runner/bench/bench.h"
#include "holdfast/runner/spec/temporary_heap.h"

namespace holdfast {
namespace {

constexpr double kSeconds = 0.5;  // length of each turn
constexpr uint64_t kWords = 10'000;
constexpr uint64_t kKeys = 10'000;  // keys at the start, from a range of twice as many

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string(what) + ": " + pmemobj_errormsg());
}
void need(int result, const char* what) {
  if (result != 0) {
    fail(what);
  }
}

/// A pool in memory during the object's lifetime.
class Pool {
 public:
  Pool() : file_("", Domain::pmem, "pmemobj") {
    pool_ = pmemobj_create(file_.path().c_str(), "holdfast.bench", size_t{64} << 20, 0600);
    if (pool_ == nullptr) {
      fail("pmemobj_create");
    }
  }
  ~Pool() { pmemobj_close(pool_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  template <class T>
  T* root(size_t bytes) {
    return static_cast<T*>(pmemobj_direct(pmemobj_root(pool_, bytes)));
  }
  template <class T>
  static T* at(PMEMoid id) {
    return static_cast<T*>(pmemobj_direct(id));
  }

  template <class Body>
  void update(Body&& body) {
    need(pmemobj_tx_begin(pool_, nullptr, TX_PARAM_NONE, TX_PARAM_NONE), "pmemobj_tx_begin");
    body();
    pmemobj_tx_commit();
    need(pmemobj_tx_end(), "pmemobj_tx_end");
  }

  template <class T>
  static void store(T* where, const T& value) {
    need(pmemobj_tx_add_range_direct(where, sizeof(T)), "pmemobj_tx_add_range_direct");
    *where = value;
  }

 private:
  const TemporaryHeap file_;
  PMEMobjpool* pool_;
};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Calls operation() for kSeconds of processor time. Returns the microseconds per call.
template <class F>
double time_of(F&& operation) {
  const double start = processor_seconds();
  uint64_t done = 0;
  double spent = 0;
  while ((spent = processor_seconds() - start) < kSeconds) {
    for (int i = 0; i < 64; ++i, ++done) {
      operation();
    }
  }
  return 1e6 * spent / static_cast<double>(done);
}

double swaps(uint64_t round, size_t per_transaction) {
  Pool pool;
  auto* const word = pool.root<uint64_t>(kWords * sizeof(uint64_t));
  for (uint64_t first = 0; first < kWords; first += 1000) {
    pool.update([&] {
      for (uint64_t i = first; i < first + 1000; ++i) {
        Pool::store(word + i, i);
      }
    });
  }
  Random random(round);
  return time_of([&] {
    pool.update([&] {
      for (size_t i = 0; i < per_transaction; ++i) {
        uint64_t* const a = word + random.below(kWords);
        uint64_t* const b = word + random.below(kWords);
        const uint64_t old = *a;
        Pool::store(a, *b);
        Pool::store(b, old);
      }
    });
  });
}

/// A hash map with a fixed number of buckets and a chain in each, like FixedHashMap.
class HashMap {
 public:
  HashMap() : bucket_(pool_.root<PMEMoid>(kKeys * sizeof(PMEMoid))) {}

  void put(uint64_t key, uint64_t value) {
    pool_.update([&] {
      PMEMoid* const link = find(key);
      if (!OID_IS_NULL(*link)) {
        Pool::store(&Pool::at<Node>(*link)->value, value);
        return;
      }
      const PMEMoid made = pmemobj_tx_alloc(sizeof(Node), 1);
      if (OID_IS_NULL(made)) {
        fail("pmemobj_tx_alloc");
      }
      *Pool::at<Node>(made) = {key, value, OID_NULL};  // a new node needs no undo record
      Pool::store(link, made);
    });
  }
  bool get(uint64_t key, uint64_t* value) {
    const PMEMoid* const link = find(key);
    if (!OID_IS_NULL(*link)) {
      *value = Pool::at<Node>(*link)->value;
    }
    return !OID_IS_NULL(*link);
  }
  void erase(uint64_t key) {
    pool_.update([&] {
      PMEMoid* const link = find(key);
      if (const PMEMoid gone = *link; !OID_IS_NULL(gone)) {
        Pool::store(link, Pool::at<Node>(gone)->next);
        need(pmemobj_tx_free(gone), "pmemobj_tx_free");
      }
    });
  }

 private:
  struct Node {
    uint64_t key;
    uint64_t value;
    PMEMoid next;
  };

  /// Returns the link that points to the key's node, or the null link at the chain's end.
  PMEMoid* find(uint64_t key) {
    PMEMoid* link = bucket_ + mix64(key) % kKeys;
    while (!OID_IS_NULL(*link) && Pool::at<Node>(*link)->key != key) {
      link = &Pool::at<Node>(*link)->next;
    }
    return link;
  }

  Pool pool_;
  PMEMoid* bucket_;
};

double map_operations(uint64_t round, double update_per_cent) {
  HashMap map;
  for (uint64_t key = 0; key < 2 * kKeys; key += 2) {
    map.put(key, key);
  }
  Random random(round);
  uint64_t sum = 0;
  const double time = time_of([&] {
    const bool update = static_cast<double>(random.below(10'000)) < update_per_cent * 100;
    const uint64_t key = random.below(2 * kKeys);
    uint64_t value = 0;
    if (!update) {
      sum += map.get(key, &value) ? value : 0;
    } else if (const uint64_t dice = random.next(); dice >> 63 == 0) {
      map.put(key, dice);
    } else {
      map.erase(key);
    }
  });
  return sum == 1 ? 0 : time;  // uses `sum`, so that the compiler keeps the reads
}

double of_holdfast(const std::string& engine, const std::string& workload, const Json& parameters) {
  const Json spec = {{"workload", workload}, {"params", parameters}, {"engines", {engine}},
                     {"threads", {1}},       {"domain", "pmem"},     {"force", true},
                     {"seconds", kSeconds},  {"repetitions", 1},     {"check", false}};
  const Json report = bench(spec, [](double, const std::string&) {}).value();
  for (const Json& entry : report["benchmarks"]) {
    if (entry.contains("error_message")) {
      throw std::runtime_error(entry["error_message"].get<std::string>());
    }
    if (entry.contains("cpu_time")) {
      return entry["cpu_time"].get<double>() / 1e3;
    }
  }
  throw std::runtime_error(engine + " was not measured");
}

struct Row {
  std::string name;
  std::string workload;
  Json parameters;
  FunctionRef<double(uint64_t)> outside;
};

void measure(const Row& row, int rounds) {
  const std::string engines[] = {"pmdk-like", "romulus-log"};
  std::map<std::string, std::vector<double>> times;
  for (int round = 0; round < rounds; ++round) {
    times["libpmemobj"].push_back(row.outside(static_cast<uint64_t>(round) + 1));
    for (const std::string& engine : engines) {
      times[engine].push_back(of_holdfast(engine, row.workload, row.parameters));
    }
  }
  for (auto& [name, all] : times) {
    std::sort(all.begin(), all.end());
  }
  const auto median = [&](const std::string& name) { return times[name][times[name].size() / 2]; };
  std::printf("%s\n", row.name.c_str());
  for (const std::string& name : {std::string("libpmemobj"), engines[0], engines[1]}) {
    std::printf("  %-12s %9.3f us (%.3f to %.3f), %.2f times as fast as libpmemobj\n", name.c_str(),
                median(name), times[name].front(), times[name].back(),
                median("libpmemobj") / median(name));
  }
}

int run(int rounds) {
  // Makes the library use write-backs and fences, not msync. It reads the variable later.
  setenv("PMEM_IS_PMEM_FORCE", "1", 1);  // NOLINT(concurrency-mt-unsafe): one thread
  std::printf(
      "libpmemobj %d.%d, one thread, files in %s, %d rounds in turns\n"
      "Processor time of an operation, median of the rounds and their range\n",
      PMEMOBJ_MAJOR_VERSION, PMEMOBJ_MINOR_VERSION, default_folder(Domain::pmem).c_str(), rounds);
  const auto one = [](uint64_t round) { return swaps(round, 1); };
  const auto many = [](uint64_t round) { return swaps(round, 64); };
  const auto reads = [](uint64_t round) { return map_operations(round, 10); };
  const auto writes = [](uint64_t round) { return map_operations(round, 100); };
  const Json map = {{"structure", "fixed"}, {"size", std::to_string(kKeys)}};
  const auto with = [&](const char* update) {
    Json parameters = map;
    parameters["update"] = update;
    return parameters;
  };
  measure({"sps, 1 swap per transaction", "sps", {{"swaps", "1"}}, one}, rounds);
  measure({"sps, 64 swaps per transaction", "sps", {{"swaps", "64"}}, many}, rounds);
  measure({"hash map, 10 % puts and erases", "map", with("10"), reads}, rounds);
  measure({"hash map, puts and erases only", "map", with("100"), writes}, rounds);
  return 0;
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  try {
    return holdfast::run(argc > 1 ? std::max(1, std::atoi(argv[1])) : 5);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pmemobj_ratio: %s\n", error.what());
    return 3;
  }
}
