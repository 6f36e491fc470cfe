// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/db/workload.h"

#include <algorithm>
#include <array>

#include "holdfast/base/catalogue.h"
#include "holdfast/base/status.h"

namespace holdfast::store_bench {
namespace {

enum class Kind { write, read, walk, seek, remove, read_while_writing };

/// The settings in which db_bench's benchmarks differ.
struct How {
  bool random = false;     ///< random keys; else ascending
  bool fresh = false;      ///< starts with an empty store
  bool durable = false;    ///< db_bench's sync
  uint64_t share = 1;      ///< the step does --num / share operations
  size_t batch = 1;        ///< entries of a write
  size_t value_size = 0;   ///< 0: --value_size
  uint64_t hot = 1;        ///< reads go to one key in this many
  bool missing = false;    ///< reads ask for absent keys
  bool backwards = false;  ///< walks from the last key
};

struct Benchmark {
  const char* name;
  const char* help;
  Kind kind;
  How how = {};
};

constexpr std::array kBenchmarks{
    Benchmark{
        "fillseq", "puts in the order of keys, into an empty store", Kind::write, {.fresh = true}},
    Benchmark{"fillbatch",
              "the same, 1000 entries in a write",
              Kind::write,
              {.fresh = true, .batch = kBatchEntries}},
    Benchmark{"fillrandom",
              "puts in random order, into an empty store",
              Kind::write,
              {.random = true, .fresh = true}},
    Benchmark{"fillsync",
              "the same, durable over a power cut; a thousandth of --num",
              Kind::write,
              {.random = true, .fresh = true, .durable = true, .share = 1000}},
    Benchmark{"fill100K",
              "values of 100,000 bytes; a thousandth of --num",
              Kind::write,
              {.random = true, .fresh = true, .share = 1000, .value_size = 100'000}},
    Benchmark{"overwrite", "puts in random order", Kind::write, {.random = true}},
    Benchmark{"readrandom", "gets in random order", Kind::read, {.random = true}},
    Benchmark{"readmissing",
              "gets of keys that are not there",
              Kind::read,
              {.random = true, .missing = true}},
    Benchmark{
        "readhot", "gets of a hundredth of the keys", Kind::read, {.random = true, .hot = 100}},
    Benchmark{"readseq", "walks forwards", Kind::walk},
    Benchmark{"readreverse", "walks backwards", Kind::walk, {.backwards = true}},
    Benchmark{"seekrandom", "opens an iterator and seeks a key", Kind::seek, {.random = true}},
    Benchmark{"readwhilewriting",
              "readrandom beside one more thread that overwrites",
              Kind::read_while_writing,
              {.random = true}},
    Benchmark{"deleteseq", "deletes in the order of keys", Kind::remove},
    Benchmark{"deleterandom", "deletes in random order", Kind::remove, {.random = true}},
};

class StepRunner {
 public:
  StepRunner(const Benchmark& benchmark, const Sizes& sizes, Task& task)
      : kind_(benchmark.kind),
        b_(benchmark.how),
        sizes_(sizes),
        task_(task),
        client_(task.client),
        out_(task.recorder) {}

  void run() {
    switch (kind_) {
      case Kind::write:
        write();
        break;
      case Kind::read:
        read();
        break;
      case Kind::walk:
        walk();
        break;
      case Kind::seek:
        seek();
        break;
      case Kind::remove:
        remove();
        break;
      case Kind::read_while_writing:
        task_.helper() ? overwrite_until_done() : read();
        break;
    }
  }

 private:
  uint64_t number(uint64_t i, uint64_t range) {
    return b_.random ? task_.random.below(range) : i % range;
  }

  void write() {
    const uint64_t count = operations(sizes_.num);
    const size_t size = b_.value_size != 0 ? b_.value_size : sizes_.value_size;
    std::vector<std::string> keys;
    std::vector<Entry> entries;
    for (uint64_t i = 0; i < count;) {
      keys.clear();
      entries.clear();
      for (; keys.size() < b_.batch && i < count; ++i) {
        keys.push_back(key_of(number(i, sizes_.num)));
      }
      for (const std::string& key : keys) {
        entries.emplace_back(key, task_.values.next(size));
        out_.bytes += key.size() + size;
      }
      put(entries);
    }
  }

  /// An operation is an entry, as in db_bench; the time is that of the whole write.
  void put(const std::vector<Entry>& entries) {
    if (b_.batch == 1) {
      out_.operation(0, [&] { client_.put(entries[0].first, entries[0].second); });
    } else {
      out_.operation(0, [&] { client_.write(entries); });
      out_.by_kind[0] += entries.size() - 1;
    }
  }

  void read() {
    const uint64_t range = std::max<uint64_t>(1, (sizes_.num + b_.hot - 1) / b_.hot);
    for (uint64_t i = 0; i < sizes_.reads; ++i) {
      const std::string key = key_of(number(i, range)) + (b_.missing ? "." : "");
      std::string_view value;
      bool found = false;
      out_.operation(0, [&] { found = client_.get(key, &value); });
      count(found, value);
    }
  }

  void walk() {
    const auto at = client_.cursor();
    bool there = false;
    for (uint64_t i = 0; i < sizes_.reads; ++i) {
      const auto step = [&] {
        if (i == 0) {
          there = b_.backwards ? at->seek_last() : at->seek_first();
        } else {
          there = b_.backwards ? at->prev() : at->next();
        }
      };
      out_.operation(0, step);
      if (!there) {
        --out_.by_kind[0];
        return;
      }
      const std::string_view key = at->key();
      const std::string_view value = at->value();
      out_.consume(key);
      out_.consume(value);
      out_.bytes += key.size() + value.size();
    }
  }

  void seek() {
    for (uint64_t i = 0; i < sizes_.reads; ++i) {
      const std::string key = key_of(number(i, sizes_.num));
      bool found = false;
      out_.operation(0, [&] {
        const auto at = client_.cursor();
        found = at->seek(key) && at->key() == key;
        if (found) {
          out_.consume(at->value());
        }
      });
      count(found, {});
    }
  }

  void remove() {
    for (uint64_t i = 0; i < sizes_.num; ++i) {
      const std::string key = key_of(number(i, sizes_.num));
      out_.operation(0, [&] { client_.remove(key); });
    }
  }

  void overwrite_until_done() {
    // A hint to stop; no data depends on it.
    while (task_.shared.working.load(std::memory_order_relaxed) > 0) {
      const std::string key = key_of(task_.random.below(sizes_.num));
      out_.operation(0, [&] { client_.put(key, task_.values.next(sizes_.value_size)); });
    }
  }

  void count(bool found, std::string_view value) {
    ++out_.looked;
    out_.found += found ? 1 : 0;
    out_.consume(value);
  }

  uint64_t operations(uint64_t given) const { return std::max<uint64_t>(1, given / b_.share); }

  Kind kind_;
  const How& b_;
  const Sizes& sizes_;
  Task& task_;
  Client& client_;
  Recorder& out_;
};

}  // namespace

std::string key_of(uint64_t number) {
  std::string digits(16, '0');
  for (size_t i = digits.size(); i > 0 && number != 0; number /= 10) {
    digits[--i] = static_cast<char>('0' + number % 10);
  }
  return digits;
}

std::vector<BenchmarkInfo> benchmark_list() {
  std::vector<BenchmarkInfo> list;
  list.reserve(std::size(kBenchmarks));
  for (const Benchmark& b : kBenchmarks) {
    list.push_back({b.name, b.help});
  }
  return list;
}

Step step_of(const std::string& name, const Sizes& sizes) {
  const Benchmark* const found =
      find_row("benchmark", name, kBenchmarks, Code::invalid_argument).value();
  Step step;
  step.name = name;
  step.fresh = found->how.fresh;
  step.durable = found->how.durable;
  step.helpers = found->kind == Kind::read_while_writing ? 1 : 0;
  step.kinds = {found->kind == Kind::write    ? "put"
                : found->kind == Kind::remove ? "delete"
                : found->kind == Kind::walk   ? "step"
                : found->kind == Kind::seek   ? "seek"
                                              : "get"};
  step.body = [found, sizes](Task& task) { StepRunner(*found, sizes, task).run(); };
  return step;
}

Values::Values(uint64_t seed) {
  constexpr size_t kPoolBytes = 1 << 20;
  constexpr size_t kHalf = 50;
  Random random(seed);
  while (pool_.size() < kPoolBytes) {
    std::string half;
    for (size_t i = 0; i < kHalf; ++i) {
      half.push_back(static_cast<char>(random.between(' ', '~')));
    }
    pool_ += half + half;
  }
}

std::string_view Values::next(size_t size) {
  if (size > pool_.size()) {
    throw Error(Status(Code::invalid_argument,
                       "values have at most " + std::to_string(pool_.size()) + " bytes"));
  }
  if (position_ + size > pool_.size()) {
    position_ = 0;
  }
  position_ += size;
  return std::string_view(pool_).substr(position_ - size, size);
}

}  // namespace holdfast::store_bench
