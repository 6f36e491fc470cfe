// SPDX-License-Identifier: Apache-2.0
//
// The base of workloads whose transactions insert new keys, and may remove them again.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/workloads/parts/insert_key.h"
#include "holdfast/workloads/parts/insert_model.h"
#include "holdfast/workloads/parts/small_workload.h"

namespace holdfast {

/// Each transaction inserts one key. Each worker chooses its keys by an InsertKey, so that all keys
/// are new. The first operation of a worker draws the number of its run; equal seeds give equal
/// keys. The value of a key follows from the key.
///
/// If Root has erase(), the parameter `removes` is the per cent of the transactions that remove the
/// worker's newest key. So the keys of a worker are always those of the numbers from 0 on, and a
/// number that was removed is inserted again. A worker without keys inserts one.
///
/// The other parameters are size (of a new structure; an existing heap keeps its own number) and
/// ack. The constructor of Root takes the workers, the size, and further arguments. Root has a
/// Field `size`, and
///
///   bool insert(uint64_t key, uint64_t value)   false, changing nothing, if the key exists
///   bool erase(uint64_t key)   optional; false if the key does not exist
///   void for_each(f)    calls f(key, value) until it returns false
///   Status check()
///
/// Up to as many workers may run at once as set_up() announced; others get invalid_argument. At
/// most 4,096 workers.
template <class H, class Root>
class InsertWorkload : public SmallWorkload<H, Root> {
 public:
  const SequentialModel* model() const override { return &model_; }

  Request draw(int worker, Random& random) override {
    this->require(worker);
    InsertKey& next = next_[static_cast<size_t>(worker)].key;
    if (next.run == 0) {
      next = {1 + random.below((uint64_t{1} << InsertKey::kRunBits) - 1),
              static_cast<uint64_t>(worker), 0};
    }
    if (removes_ && next.number > 0 && removes_->draw(random)) {
      next.number -= 1;
      return {InsertModel::kRemove, {next.key()}};
    }
    const uint64_t key = next.key();
    next.number += 1;
    return {InsertModel::kInsert, {key, value_of(key)}};
  }

  OperationResult operation(int worker, Random& random) override {
    return perform(worker, draw(worker, random));
  }

  OperationResult perform(int worker, const Request& request) override {
    const uint64_t key = request.argument[0];
    const uint64_t value = request.argument[1];
    Root& root = *this->root_;
    if constexpr (kRemoves) {
      if (request.kind == InsertModel::kRemove) {
        return this->updating(request.kind, worker, [&] { return uint64_t{root.erase(key)}; });
      }
    }
    return this->updating(request.kind, worker, [&] { return uint64_t{root.insert(key, value)}; });
  }

 protected:
  InsertWorkload(H& heap, const Parameters& parameters)
      : SmallWorkload<H, Root>(heap, parameters),
        size_(static_cast<uint64_t>(
            parameters.number("size", 0, (int64_t{1} << InsertKey::kNumberBits) - 1))) {
    if constexpr (kRemoves) {
      // Without removals no random number is drawn, so that inserts alone stay as they were.
      if (const Chance removes(parameters, "removes"); removes.possible()) {
        removes_ = removes;
      }
    }
  }

  /// Creates the root and inserts the initial keys, of which each stores about `words` words.
  template <class... A>
  Status fill(int workers, uint64_t words, A&&... args) {
    if (workers > 1 << InsertKey::kWorkerBits) {
      return Status(Code::invalid_argument, std::string(this->info().name) +
                                                " has keys for 4096 workers, not for " +
                                                std::to_string(workers));
    }
    Status status = this->create_root(workers, size_, std::forward<A>(args)...);
    const auto insert = [this](uint64_t i) {
      const uint64_t key = InsertKey{0, 0, i}.key();
      this->root_->insert(key, value_of(key));
    };
    return status.ok() ? this->in_batches(size_, insert, words) : status;
  }

  static uint64_t value_of(uint64_t key) { return mix64(key); }

  Status bound() override {
    next_.assign(static_cast<size_t>(this->workers()), Next{});
    return {};
  }

 private:
  static constexpr bool kRemoves = requires(Root& root, uint64_t key) { root.erase(key); };

  struct alignas(kLineBytes) Next {
    InsertKey key{};  ///< of the next insert
  };

  uint64_t size_;
  std::optional<Chance> removes_;
  InsertModel model_;
  std::vector<Next> next_;
};

/// The runner with its judge. check() examines the structure, the values, and the number of
/// elements: the initial ones are all there, and no element of a worker is missing before its
/// newest one. Only the ledger shows the loss of last transactions.
template <class Runner>
class InsertJudge : public SmallJudge<Runner> {
 public:
  using SmallJudge<Runner>::SmallJudge;

  Result<ModelState> observe() override {
    return this->observing([&]() -> Result<ModelState> {
      KeyedContent content;
      this->root_->for_each([&](uint64_t key, uint64_t value) {
        content.add(key, value);
        return true;
      });
      return content.state();
    });
  }

  Status check() override {
    return this->in_read([&]() -> Status {
      if (Status status = this->root_->check(); !status.ok()) {
        return status;
      }
      const auto workers = static_cast<uint64_t>(this->workers());
      std::map<std::pair<uint64_t, uint64_t>, InsertedKeys> groups;
      bool right = true;
      this->root_->for_each([&](uint64_t key, uint64_t value) {
        const InsertKey parts = InsertKey::of(key);
        right = value == this->value_of(key) && parts.worker < workers;
        groups[{parts.run, parts.worker}].add(parts.number);
        return right;
      });
      const std::string workload = this->info().name;
      if (!right) {
        return {Code::corrupt, workload + ": a key or its value is wrong"};
      }
      InsertedKeys& initial = groups[{0, 0}];
      initial.end = std::max(initial.end, this->root_->size.load());
      for (const auto& [name, group] : groups) {
        const std::string keys = "elements of worker " + std::to_string(name.second) + ", run " +
                                 std::to_string(name.first);
        if (Status status = group.check(workload, keys); !status.ok()) {
          return status;
        }
      }
      return {};
    });
  }
};

}  // namespace holdfast
