// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/db/ycsb.h"

#include <memory>
#include <optional>

#include "holdfast/runner/db/zipfian.h"

namespace holdfast::store_bench {
namespace {

enum YcsbKind : size_t { kRead, kUpdate, kInsert, kScan, kReadModifyWrite };

constexpr int64_t kMost = int64_t{1} << 40;
constexpr size_t kMostValue = 64 << 20;

/// Chooses the records to ask for. The number of records grows during a run; the rest is fixed.
class Chooser {
 public:
  explicit Chooser(const Ycsb& y) : y_(y), range_(y.records) {
    if (y.request == Ycsb::Request::zipfian) {
      // Covers twice the expected number of later records; a record that does not exist yet is
      // drawn again.
      range_ +=
          static_cast<uint64_t>(2 * y.proportions[kInsert] * static_cast<double>(y.operations));
    }
    if (y.request != Ycsb::Request::uniform) {
      zipfian_ = std::make_unique<Zipfian>(range_);
    }
  }

  uint64_t next(Random& random, uint64_t records) const {
    switch (y_.request) {
      case Ycsb::Request::uniform:
        return random.below(range_);
      case Ycsb::Request::latest:
        return records - 1 - zipfian_->next(random);
      case Ycsb::Request::zipfian:
        break;
    }
    for (;;) {
      // Hashed, so that the hot records do not depend on the order of insertion.
      const uint64_t number = mix64(zipfian_->next(random)) % range_;
      if (number < records) {
        return number;
      }
    }
  }

 private:
  const Ycsb& y_;
  uint64_t range_;
  std::unique_ptr<Zipfian> zipfian_;  ///< null: all records are equally hot
};

/// Read-only data of all threads of a run.
struct YcsbPlan {
  explicit YcsbPlan(const Ycsb& y) : ycsb(y), chooser(ycsb) {
    if (!y.uniform_scan) {
      lengths.emplace(y.longest_scan);
    }
  }

  std::string key(uint64_t number) const {
    const std::string digits = std::to_string(ycsb.hashed ? mix64(number) : number);
    return "user" + std::string(20 - digits.size(), '0') + digits;
  }

  uint64_t scan_length(Random& random) const {
    return 1 + (lengths ? lengths->next(random) : random.below(ycsb.longest_scan));
  }

  Ycsb ycsb;
  Chooser chooser;
  std::optional<Zipfian> lengths;
};

/// This thread's share of `count`.
uint64_t part(uint64_t count, const Task& task) {
  const auto thread = static_cast<uint64_t>(task.thread);
  const auto threads = static_cast<uint64_t>(task.threads);
  return count * (thread + 1) / threads - count * thread / threads;
}

void load(const YcsbPlan& plan, Task& task) {
  const uint64_t first =
      plan.ycsb.records * static_cast<uint64_t>(task.thread) / static_cast<uint64_t>(task.threads);
  for (uint64_t i = 0; i < part(plan.ycsb.records, task); ++i) {
    const std::string key = plan.key(first + i);
    const auto value = task.values.next(plan.ycsb.value_size);
    task.recorder.operation(0, [&] { task.client.put(key, value); });
    task.recorder.bytes += key.size() + value.size();
  }
}

class Runner {
 public:
  Runner(const YcsbPlan& plan, Task& task) : plan_(plan), task_(task), out_(task.recorder) {}

  void run() {
    for (uint64_t i = part(plan_.ycsb.operations, task_); i > 0; --i) {
      operation(draw());
    }
  }

 private:
  YcsbKind draw() {
    const auto& shares = plan_.ycsb.proportions;
    double at = static_cast<double>(task_.random.next() >> 11) * 0x1.0p-53;
    size_t kind = 0;
    while (kind + 1 < shares.size() && at >= shares[kind]) {
      at -= shares[kind++];
    }
    while (shares[kind] == 0) {  // rounding must not choose a kind without a share
      --kind;
    }
    return static_cast<YcsbKind>(kind);
  }

  void operation(YcsbKind kind) {
    if (kind == kInsert) {
      insert();
      return;
    }
    const uint64_t known = task_.shared.inserted.load();
    const std::string key = plan_.key(plan_.chooser.next(task_.random, known));
    switch (kind) {
      case kRead:
        out_.operation(kind, [&] { read(key); });
        break;
      case kUpdate:
        out_.operation(kind, [&] { task_.client.put(key, value()); });
        break;
      case kScan:
        out_.operation(kind, [&] { scan(key); });
        break;
      default:
        out_.operation(kind, [&] {
          read(key);
          task_.client.put(key, value());
        });
    }
  }

  void insert() {
    const std::string key = plan_.key(task_.shared.next.fetch_add(1));
    out_.operation(kInsert, [&] { task_.client.put(key, value()); });
    // With several threads the count may cover another thread's record that is not inserted yet. A
    // read may then miss it; misses are counted.
    task_.shared.inserted.fetch_add(1);
  }

  void read(const std::string& key) {
    std::string_view value;
    ++out_.looked;
    if (task_.client.get(key, &value)) {
      ++out_.found;
      out_.consume(value);
    }
  }

  void scan(const std::string& key) {
    const auto at = task_.client.cursor();
    bool there = at->seek(key);
    for (uint64_t left = plan_.scan_length(task_.random); there && left > 0; --left) {
      out_.consume(at->key());
      out_.consume(at->value());
      there = left > 1 && at->next();
    }
  }

  std::string_view value() { return task_.values.next(plan_.ycsb.value_size); }

  const YcsbPlan& plan_;
  Task& task_;
  Recorder& out_;
};

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Status(Code::invalid_argument, what));
}

}  // namespace

Ycsb Ycsb::parse(const Json& properties) {
  Fields fields(properties, "ycsb");
  Ycsb y;
  y.name = fields.text("name", "ycsb");
  y.records = static_cast<uint64_t>(fields.number("recordcount", 1000, 1, kMost));
  y.operations = static_cast<uint64_t>(fields.number("operationcount", 1000, 1, kMost));
  double sum = 0;
  for (size_t kind = 0; kind < kKinds.size(); ++kind) {
    y.proportions[kind] =
        fields.real(std::string(kKinds[kind]) + "proportion", y.proportions[kind], 0, 1e9);
    sum += y.proportions[kind];
  }
  if (sum <= 0) {
    refuse("ycsb: all proportions are zero");
  }
  for (double& proportion : y.proportions) {
    proportion /= sum;
  }
  const std::string request = fields.text("requestdistribution", "uniform");
  if (request != "uniform" && request != "zipfian" && request != "latest") {
    refuse("ycsb: requestdistribution is uniform, zipfian or latest, not '" + request + "'");
  }
  y.request = request == "uniform"   ? Request::uniform
              : request == "zipfian" ? Request::zipfian
                                     : Request::latest;
  y.value_size = static_cast<size_t>(fields.number("fieldcount", 10, 1, 10'000) *
                                     fields.number("fieldlength", 100, 1, 1 << 20));
  if (y.value_size > kMostValue) {
    refuse("ycsb: a record of fieldcount * fieldlength bytes has at most " +
           std::to_string(kMostValue));
  }
  y.longest_scan = static_cast<uint64_t>(fields.number("maxscanlength", 1000, 1, kMost));
  const std::string lengths = fields.text("scanlengthdistribution", "uniform");
  const std::string order = fields.text("insertorder", "hashed");
  if ((lengths != "uniform" && lengths != "zipfian") || (order != "hashed" && order != "ordered")) {
    refuse("ycsb: scanlengthdistribution is uniform or zipfian, insertorder hashed or ordered");
  }
  y.uniform_scan = lengths == "uniform";
  y.hashed = order == "hashed";
  fields.finish();
  return y;
}

std::vector<Step> steps_of(const Ycsb& workload) {
  const auto plan = std::make_shared<const YcsbPlan>(workload);
  Step loading;
  loading.name = workload.name + "-load";
  loading.fresh = true;
  loading.durable = true;
  loading.kinds = {"insert"};
  loading.body = [plan](Task& task) { load(*plan, task); };
  Step running;
  running.name = workload.name;
  running.durable = true;
  running.records = workload.records;
  running.kinds.assign(Ycsb::kKinds.begin(), Ycsb::kKinds.end());
  running.body = [plan](Task& task) { Runner(*plan, task).run(); };
  return {loading, running};
}

}  // namespace holdfast::store_bench
