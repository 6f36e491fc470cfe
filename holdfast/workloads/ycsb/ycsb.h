// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "holdfast/structures/bplus_tree.h"
#include "holdfast/workloads/parts/insert_key.h"
#include "holdfast/workloads/parts/small_workload.h"
#include "holdfast/workloads/parts/weights.h"
#include "holdfast/workloads/parts/zipf.h"
#include "holdfast/workloads/ycsb/versioned_value.h"
#include "holdfast/workloads/ycsb/ycsb_model.h"

namespace holdfast {

const WorkloadInfo& ycsb_info();

/// The frequencies of the operations, and the keys that reads choose.
struct YcsbMix {
  Weights weights;
  bool latest = false;  ///< the newest keys, as workload D; else the same keys all the time
};
/// Parses a letter from a to f, or weights. Returns invalid_argument for another text.
Result<YcsbMix> parse_ycsb_mix(const std::string& text);

template <class H>
struct YcsbRoot {
  template <class T>
  using Field = typename H::template Field<T>;
  using Value = Field<uint64_t>;
  static constexpr const char* kTypeName = "holdfast.workload.Ycsb";
  static constexpr uint32_t kTypeVersion = 1;

  YcsbRoot(int workers, uint64_t initial_records, uint64_t value_words)
      : ledger(workers), records(initial_records), words(value_words) {}
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    ledger.visit_blocks(visit);
    map.visit_blocks(visit);
    map.for_each([&](uint64_t, const Value* value) {
      visit(static_cast<const void*>(value), words * sizeof(Value));
      return true;
    });
  }

  Ledger<H> ledger;
  Field<uint64_t> records;  ///< at the start
  Field<uint64_t> words;    ///< of a value
  BPlusTree<H, uint64_t, Value*> map;
};

/// The core workloads A to F of YCSB (Cooper et al., "Benchmarking Cloud Serving Systems with
/// YCSB", SoCC 2010) on a heap, one operation in each transaction. Hercules (section 5.5) runs YCSB
/// with values of several sizes.
///
///   records  keys at the start; an existing heap keeps its own number and size of values
///   bytes    size of a value, a multiple of 8; YCSB has 10 fields of 100 bytes
///   mix      a to f, or weights of read, update, insert, scan and rmw
///   skew     of the Zipfian choice of keys, 0 (uniform) to 10
///   scan     most entries of a scan, which reads 1 to so many
///   ack      1: each update also counts in its worker's durable ledger
///
/// Key i is mix64(i), so that popular keys are far from each other, as YCSB's hashed keys are. A
/// B+tree leads from a key to its value, a block of its own. Each operation reads or writes a whole
/// value. Worker w of n inserts the keys records + w, records + w + n, and so on. The newest keys,
/// which workload D reads, are those before the worker's last insert. They include keys of other
/// workers that are not there yet; such a read finds nothing.
///
/// An operation that reads a torn value throws Error(corrupt).
///
/// Up to as many workers may run at once as set_up() announced; others get invalid_argument.
template <class H>
class YcsbRunner : public SmallWorkload<H, YcsbRoot<H>> {
 public:
  static const WorkloadInfo& static_info() { return ycsb_info(); }

  YcsbRunner(H& heap, const Parameters& parameters)
      : SmallWorkload<H, YcsbRoot<H>>(heap, parameters),
        records_(static_cast<uint64_t>(parameters.number("records", 1, int64_t{1} << 30))),
        words_(words_of(parameters, "bytes", 1 << 20)),
        mix_(parse_ycsb_mix(parameters.text("mix")).value()),
        skew_(parameters.real("skew", 0, 10)),
        scan_(static_cast<uint64_t>(parameters.number("scan", 1, 1 << 20))),
        zipf_(records_, skew_),
        model_(mix_.weights[YcsbModel::kScan] != 0) {}

  const WorkloadInfo& info() const override { return static_info(); }

  Status set_up(int workers, uint64_t) override {
    Status status = this->create_root(workers, records_, words_);
    const auto insert = [&](uint64_t i) { put(key_of(i), 0); };
    return status.ok() ? this->in_batches(records_, insert, words_ + 8) : status;
  }

  const SequentialModel* model() const override { return &model_; }

  Request draw(int worker, Random& random) override {
    this->require(worker);
    uint64_t& inserts = inserts_[static_cast<size_t>(worker)].made;
    const int kind = mix_.weights.draw(random);
    if (kind == YcsbModel::kInsert) {
      return {kind, {key_of(inserted(worker, inserts++)), random.next()}};
    }
    const uint64_t rank = zipf_.draw(random) - 1;
    const uint64_t newest = inserts == 0 ? records_ - 1 : inserted(worker, inserts - 1);
    const uint64_t key = key_of(mix_.latest ? newest - rank : rank);
    switch (kind) {
      case YcsbModel::kRead:
        return {kind, {key}};
      case YcsbModel::kScan:
        return {kind, {key, 1 + random.below(scan_)}};
      default:
        return {kind, {key, random.next()}};
    }
  }

  OperationResult operation(int worker, Random& random) override {
    return perform(worker, draw(worker, random));
  }

  OperationResult perform(int worker, const Request& request) override {
    const uint64_t key = request.argument[0];
    const uint64_t argument = request.argument[1];
    OperationResult result;
    switch (request.kind) {
      case YcsbModel::kRead:
        result = this->reading(request.kind, worker, [&] { return read(key); });
        break;
      case YcsbModel::kScan:
        result = this->reading(request.kind, worker, [&] { return scan(key, argument); });
        break;
      case YcsbModel::kRmw:
        result =
            this->updating(request.kind, worker, [&] { return read_and_write(key, argument); });
        break;
      default:
        return this->updating(request.kind, worker, [&] { return uint64_t{put(key, argument)}; });
    }
    if (result.response[1] == kTorn) {
      throw Error(Status(Code::corrupt, "ycsb: read a torn value of key " + std::to_string(key)));
    }
    return result;
  }

 protected:
  using Value = typename YcsbRoot<H>::Value;
  /// In the place of a number of values.
  static constexpr uint64_t kTorn = ~uint64_t{0};

  static uint64_t key_of(uint64_t number) { return mix64(number); }
  /// The number of the worker's i-th own key.
  uint64_t inserted(int worker, uint64_t i) const {
    return records_ + static_cast<uint64_t>(worker) + i * static_cast<uint64_t>(this->workers());
  }

  Response read(uint64_t key) const {
    const std::optional<Value*> value = this->root_->map.find(key);
    if (!value) {
      return {};
    }
    const auto version = VersionedValue::version_at(*value, words_, key);
    return {version.value_or(0), version ? 1 : kTorn};
  }

  Response scan(uint64_t from, uint64_t most) const {
    PlaceDigest digest;
    uint64_t found = 0;
    this->root_->map.scan(from, [&](uint64_t key, const Value* value) {
      const auto version = VersionedValue::version_at(value, words_, key);
      digest.add(key);
      digest.add(version.value_or(0));
      found = version ? found + 1 : kTorn;
      return found < most;
    });
    return {digest.value(), found};
  }

  Response read_and_write(uint64_t key, uint64_t version) {
    const Response before = read(key);
    if (before[1] == 1) {
      put(key, version);
    }
    return before;
  }

  /// Returns whether the key is new.
  bool put(uint64_t key, uint64_t version) {
    Value* made = nullptr;
    const auto* const held = this->root_->map.find_or_insert(key, [&] {
      made = static_cast<Value*>(H::allocate(words_ * sizeof(Value)));
      return made;
    });
    VersionedValue(key, version).store(held != nullptr ? held->load() : made, words_);
    return held == nullptr;
  }

  /// Returns how many of its own keys the worker has inserted.
  uint64_t find_end(int worker) const {
    const auto there = [&](uint64_t i) {
      return this->root_->map.contains(key_of(inserted(worker, i)));
    };
    uint64_t high = 1;
    while (there(high - 1)) {
      high *= 2;
    }
    uint64_t low = high / 2;
    high -= 1;
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (there(middle)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  Status bound() override {
    inserts_.assign(static_cast<size_t>(this->workers()), Inserts{});
    Status status = this->heap_.read(this->partitions_, [&] {
      records_ = this->root_->records;
      words_ = this->root_->words;
      for (int worker = 0; worker < this->workers(); ++worker) {
        inserts_[static_cast<size_t>(worker)].made = find_end(worker);
      }
    });
    zipf_ = Zipf(records_, skew_);
    return status;
  }

  struct alignas(kLineBytes) Inserts {
    uint64_t made = 0;
  };

  uint64_t records_;
  uint64_t words_;
  YcsbMix mix_;
  double skew_;
  uint64_t scan_;
  Zipf zipf_;
  YcsbModel model_;
  std::vector<Inserts> inserts_;
};

/// The runner with its judge. check() examines the tree and all values. The initial keys are all
/// there, and no insert of a worker is missing before its last one. Only the ledger shows the loss
/// of other updates.
template <class H>
class Ycsb final : public SmallJudge<YcsbRunner<H>> {
 public:
  using SmallJudge<YcsbRunner<H>>::SmallJudge;

  Result<ModelState> observe() override {
    return this->observing([&]() -> Result<ModelState> {
      KeyedContent content;
      Status status = for_each([&](uint64_t key, uint64_t version) { content.add(key, version); });
      if (!status.ok()) {
        return status;
      }
      return content.state();
    });
  }

  Status check() override {
    return this->in_read([&]() -> Status {
      if (Status status = this->root_->map.check(); !status.ok()) {
        return status;
      }
      const auto workers = static_cast<uint64_t>(this->workers());
      InsertedKeys initial{.end = this->records_};
      std::vector<InsertedKeys> inserted(workers);
      Status status = for_each([&](uint64_t key, uint64_t) {
        const uint64_t number = InsertKey::unmix64(key);
        if (number < this->records_) {
          initial.add(number);
          return;
        }
        inserted[(number - this->records_) % workers].add((number - this->records_) / workers);
      });
      if (status.ok()) {
        status = initial.check("ycsb", "initial keys");
      }
      for (uint64_t worker = 0; status.ok() && worker < workers; ++worker) {
        status = inserted[worker].check("ycsb", "keys of worker " + std::to_string(worker));
      }
      return status;
    });
  }

 private:
  static Status corrupt(const std::string& text) { return Status(Code::corrupt, "ycsb: " + text); }

  /// Calls f(key, version) in the order of keys. Fails if a value is torn.
  template <class F>
  Status for_each(F&& f) const {
    Status status;
    this->root_->map.for_each([&](uint64_t key, const typename YcsbRunner<H>::Value* value) {
      std::optional<uint64_t> version;
      if (value != nullptr) {  // null: an insert of which only a half is there
        version = VersionedValue::version_at(value, this->words_, key);
      }
      if (version) {
        f(key, *version);
      } else {
        status = corrupt("the value of key " + std::to_string(key) + " is torn");
      }
      return status.ok();
    });
    return status;
  }
};

/// The registry's row.
using YcsbWorkload = WorkloadRow<ycsb_info, YcsbRunner, Ycsb>;

}  // namespace holdfast
