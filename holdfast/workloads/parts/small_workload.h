// SPDX-License-Identifier: Apache-2.0
//
// The base of small workloads: one root, acknowledgements, set-up in batches, the choice of keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "holdfast/engines/partitions.h"
#include "holdfast/machine/machine.h"
#include "holdfast/workloads/parts/keyed_model.h"
#include "holdfast/workloads/parts/ledger.h"
#include "holdfast/workloads/parts/workload.h"
#include "holdfast/workloads/parts/zipf.h"

namespace holdfast {

/// Rows per transaction while a workload is set up; fewer if a row has many words.
inline constexpr uint64_t kSetUpBatch = 1000;
/// Words per transaction while a workload with such rows is set up.
inline constexpr uint64_t kSetUpWords = 8000;

/// Returns `count` different numbers below `range`, in random order.
std::vector<int64_t> sample_keys(int64_t range, int64_t count, uint64_t seed);

/// The parameters size and range. Throws Error(invalid_argument) if they contradict each other.
/// Range 0 means twice the size, which keeps the size steady, or with pairs the size.
struct KeySpace {
  int64_t size;
  int64_t range;
};
KeySpace key_space(const Parameters& parameters, int64_t largest);

/// Random keys in [0, range), as the parameters keys and skew say. Throws
/// Error(invalid_argument) if one of them is wrong.
class RandomKeys {
 public:
  explicit RandomKeys(const Parameters& parameters);
  /// Call it before the first draw().
  void set_range(int64_t range);

  int64_t draw(Random& random) const {
    // Neighbouring ranks get keys far from each other, so that hot keys do not share nodes.
    return static_cast<int64_t>(zipf_ ? (zipf_->draw(random) - 1) * step_ % range_
                                      : random.below(range_));
  }

 private:
  std::optional<double> skew_;
  uint64_t range_ = 1;
  uint64_t step_ = 1;  ///< without a common factor with the range
  std::optional<Zipf> zipf_;
};

/// A parameter that gives a size in bytes, as a number of words. Throws Error(invalid_argument)
/// unless the size is a multiple of 8, from 8 up to `most`.
uint64_t words_of(const Parameters& parameters, const char* name, int64_t most);

/// A percentage, converted to a threshold for one random draw.
class Chance {
 public:
  Chance(const Parameters& parameters, const char* name)
      : threshold_(static_cast<uint64_t>(parameters.real(name, 0, 100) * (kUnit / 100))) {}
  bool draw(Random& random) const {
    return random.below(static_cast<uint64_t>(kUnit)) < threshold_;
  }
  bool possible() const { return threshold_ > 0; }

 private:
  static constexpr double kUnit = 1e9;
  uint64_t threshold_;
};

/// The base of a workload whose state is below one root of type Root. Root has a member `ledger`
/// and visit_blocks(). Its constructor takes the number of workers and the workload's further
/// arguments.
///
/// If the parameters are those of a partition, the root has the partition's number in its name, and
/// all transactions name the partition.
template <class H, class Root>
class SmallWorkload : public WorkloadInstance {
 public:
  Status attach() final {
    auto found = heap_.template find_root<Root>(root_name());
    if (!found.ok()) {
      return found.status();
    }
    return bind(found.value());
  }

 protected:
  SmallWorkload(H& heap, const Parameters& parameters)
      : SmallWorkload(heap, parameters, parameters.number("ack", 0, 1) != 0) {}
  SmallWorkload(H& heap, const Parameters& parameters, bool ack)
      : heap_(heap),
        partitions_(parameters.partition() ? Partitions({*parameters.partition()})
                                           : Partitions::all()),
        partition_(parameters.partition()),
        ack_(ack) {}

  template <class... A>
  Status create_root(int workers, A&&... args) {
    auto found = heap_.template find_root<Root>(root_name());
    if (found.ok()) {
      return Status(Code::already_exists, "the heap already holds the workload " + root_name());
    }
    const auto make = [&] { return heap_.template root<Root>(root_name(), workers, args...); };
    auto made = partition_ ? heap_.update(partitions_, [&] { return make().value(); }) : make();
    if (!made.ok()) {
      return made.status();
    }
    return bind(made.value());
  }

  /// Calls row(i) for all i below `count`, in transactions of kSetUpBatch rows. Rows of more than 8
  /// words, of which `row_words` tells the number, come in transactions of about kSetUpWords.
  template <class F>
  Status in_batches(uint64_t count, F&& row, uint64_t row_words = 1) {
    const uint64_t batch = std::clamp<uint64_t>(kSetUpWords / row_words, 1, kSetUpBatch);
    for (uint64_t first = 0; first < count; first += batch) {
      const uint64_t last = first + batch < count ? first + batch : count;
      Status status = heap_.update(partitions_, [&] {
        for (uint64_t i = first; i < last; ++i) {
          row(i);
        }
      });
      if (!status.ok()) {
        return status;
      }
    }
    return {};
  }

  /// Runs a check, which returns a Status, in one read transaction.
  template <class F>
  Status in_read(F&& body) {
    Status found;
    try {
      const Status ran = heap_.read(partitions_, [&] { found = body(); });
      return ran.ok() ? found : ran;
    } catch (const Error& error) {
      return error.status();
    }
  }

  /// Runs one update operation. body() returns a Response, or its first word. The word is also
  /// consumed, so that the compiler cannot drop any work.
  template <class F>
  OperationResult updating(int kind, int worker, F&& body) {
    require(worker);
    OperationResult result;
    result.kind = kind;
    if (ack_) {
      const auto counted = [&] {
        const Response response = response_of(body());
        return Outcome{response, root_->ledger.advance(worker)};
      };
      const Outcome outcome = heap_.update(partitions_, counted).value();
      result.response = outcome.response;
      acknowledge(result, worker, outcome.sequence);
    } else {
      result.response = response_of(heap_.update(partitions_, body).value());
    }
    consume(worker, result.response[0]);
    return result;
  }

  /// Runs one read-only operation, with a body as for updating().
  template <class F>
  OperationResult reading(int kind, int worker, F&& body) {
    require(worker);
    OperationResult result;
    result.kind = kind;
    result.read_only = true;
    result.response = response_of(heap_.read(partitions_, body).value());
    consume(worker, result.response[0]);
    return result;
  }

  static void acknowledge(OperationResult& result, int worker, uint64_t sequence) {
    result.acknowledgement[0] = static_cast<uint64_t>(worker) + 1;
    result.acknowledgement[1] = sequence;
  }

  int workers() const { return static_cast<int>(sinks_.size()); }

  /// Call it before anything is done for a worker: there are counters only for the announced number
  /// of workers.
  void require(int worker) const {
    if (static_cast<size_t>(worker) >= sinks_.size()) {
      throw Error(
          Status(Code::invalid_argument, std::string("workload ") + info().name +
                                             " was set up for " + std::to_string(workers()) +
                                             " workers, not for worker " + std::to_string(worker)));
    }
  }

  H& heap_;
  Partitions partitions_;  ///< that transactions name
  Root* root_ = nullptr;

 private:
  struct Outcome {
    Response response;
    uint64_t sequence;
  };
  struct alignas(kLineBytes) Sink {
    volatile uint64_t value = 0;
  };

  Status bind(Root* root) {
    root_ = root;
    auto workers = heap_.read([&] { return root->ledger.workers(); });
    if (!workers.ok()) {
      return workers.status();
    }
    sinks_ = std::vector<Sink>(static_cast<size_t>(workers.value()));
    return bound();
  }
  std::string root_name() const {
    return info().name + (partition_ ? "/" + std::to_string(*partition_) : std::string());
  }
  /// Override it to keep values of the root.
  virtual Status bound() { return {}; }

  static Response response_of(uint64_t word) { return {word, 0}; }
  static Response response_of(const Response& response) { return response; }

  void consume(int worker, uint64_t value) {
    Sink& sink = sinks_[static_cast<size_t>(worker)];
    sink.value = sink.value ^ value;
  }

  std::optional<int> partition_;
  bool ack_;
  std::vector<Sink> sinks_;
};

/// Adds the parts of judging that are common to small workloads.
template <class Runner>
class SmallJudge : public Runner {
 public:
  using Runner::Runner;

  Status verify(const OperationResult& acknowledged) final {
    const uint64_t worker = acknowledged.acknowledgement[0];
    if (worker == 0) {
      return {};
    }
    return this->in_read(
        [&] { return this->root_->ledger.reached(worker - 1, acknowledged.acknowledgement[1]); });
  }

  bool list_blocks(const std::function<void(const void*, size_t)>& visit) final {
    return this->heap_.read(this->partitions_, [&] { this->root_->visit_blocks(visit); }).ok();
  }

 protected:
  /// Implements observe(). content() returns a Result and runs in one read transaction, possibly
  /// more than once.
  template <class F>
  Result<ModelState> observing(F&& content) {
    ModelState state;
    Status status = this->in_read([&]() -> Status {
      Result<ModelState> found = content();
      if (!found.ok()) {
        return found.status();
      }
      state = std::move(found).value();
      return {};
    });
    if (!status.ok()) {
      return status;
    }
    return state;
  }
};

/// The base of workloads that look up, add and erase random keys. Their parameters are size, range,
/// keys, skew, update, pairs, writers and ack. Root also has a Field `range`, its second
/// constructor argument.
template <class H, class Root>
class KeyedWorkload : public SmallWorkload<H, Root> {
 public:
  Request draw(int worker, Random& random) final {
    this->require(worker);
    Erased& erased = erased_[static_cast<size_t>(worker)];
    if (erased.key >= 0) {
      return adding(std::exchange(erased.key, -1), random.next());
    }
    const bool update = writers_ == 0 ? update_.draw(random) : worker < writers_;
    const int64_t key = random_keys_.draw(random);
    if (!update) {
      return {KeyedModel::kLookUp, {static_cast<uint64_t>(key)}};
    }
    if (pairs_) {
      erased.key = key;
    } else if (const uint64_t dice = random.next(); dice >> 63 == 0) {
      return adding(key, dice);
    }
    return {KeyedModel::kErase, {static_cast<uint64_t>(key)}};
  }

 protected:
  KeyedWorkload(H& heap, const Parameters& parameters, int64_t largest)
      : SmallWorkload<H, Root>(heap, parameters),
        keys_(key_space(parameters, largest)),
        random_keys_(parameters),
        update_(parameters, "update"),
        pairs_(parameters.number("pairs", 0, 1) != 0),
        writers_(parameters.number("writers", 0, 1 << 20)) {}

  /// The value with which a key is added.
  virtual uint64_t value_to_add(int64_t key, uint64_t random) const = 0;

  /// Creates the root, and calls insert(key) for each of `keys`.
  template <class F, class... A>
  Status fill(int workers, const std::vector<int64_t>& keys, F&& insert, A&&... args) {
    const Status status = this->create_root(workers, keys_.range, std::forward<A>(args)...);
    return status.ok() ? this->in_batches(keys.size(), [&](uint64_t i) { insert(keys[i]); })
                       : status;
  }

  /// The keys of the initial state.
  std::vector<int64_t> first_keys(uint64_t seed) const {
    return sample_keys(keys_.range, keys_.size, seed);
  }

  KeySpace keys_;

 private:
  /// With pairs: the key that a worker has erased and adds next; -1: none.
  struct alignas(kLineBytes) Erased {
    int64_t key = -1;
  };

  Request adding(int64_t key, uint64_t random) const {
    return {KeyedModel::kAdd, {static_cast<uint64_t>(key), value_to_add(key, random)}};
  }

  Status bound() final {
    erased_ = std::vector<Erased>(static_cast<size_t>(this->workers()));
    auto range = this->heap_.read([&] { return this->root_->range.load(); });
    if (range.ok()) {
      keys_.range = range.value();
      random_keys_.set_range(keys_.range);
    }
    return range.status();
  }

  RandomKeys random_keys_;
  Chance update_;
  bool pairs_;
  int64_t writers_;
  std::vector<Erased> erased_;
};

}  // namespace holdfast
