// SPDX-License-Identifier: Apache-2.0
//
// The base of workloads that update an array in streaming order, a group of neighbouring elements
// in each transaction.
#pragma once

#include <string>
#include <vector>

#include "holdfast/workloads/parts/element_array.h"
#include "holdfast/workloads/parts/element_stream_model.h"
#include "holdfast/workloads/parts/small_workload.h"

namespace holdfast {

template <class H>
struct ElementStreamRoot {
  static constexpr const char* kTypeName = "holdfast.workload.ElementStream";
  static constexpr uint32_t kTypeVersion = 1;

  ElementStreamRoot(int workers, uint64_t groups, uint64_t elements, uint64_t words)
      : ledger(workers), group(elements), array(groups * elements, words) {}
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    ledger.visit_blocks(visit);
    array.visit_blocks(visit);
  }

  Ledger<H> ledger;
  typename H::template Field<uint64_t> group;  ///< elements of a group
  ElementArray<H> array;
};

/// Each transaction reads, changes and writes all words of the next group of elements: it adds 1 to
/// each. At first word w of element i is mix64(i * words + w). So each word tells the number of
/// updates of its group, and all words of a group tell the same number.
///
/// The workers begin at places spread evenly over the array. Each goes through the whole array,
/// again and again. A new instance of the workload begins at the same places.
template <class H>
class ElementStreamRunner : public SmallWorkload<H, ElementStreamRoot<H>> {
 public:
  Status set_up(int workers, uint64_t) override {
    Status status = this->create_root(workers, shape_.groups, shape_.elements, shape_.words);
    if (!status.ok()) {
      return status;
    }
    const auto fill = [&](uint64_t i) {
      auto* const element = view_.element(i);
      for (uint64_t w = 0; w < view_.words; ++w) {
        element[w] = first_word(i, w);
      }
    };
    return this->in_batches(view_.entries, fill, view_.words);
  }

  const SequentialModel* model() const override { return &model_; }

  Request draw(int worker, Random&) override {
    this->require(worker);
    uint64_t& next = next_[static_cast<size_t>(worker)].group;
    const uint64_t group = next;
    next = next + 1 == groups() ? 0 : next + 1;
    return {0, {group}};
  }

  OperationResult operation(int worker, Random& random) override {
    return perform(worker, draw(worker, random));
  }

  OperationResult perform(int worker, const Request& request) override {
    const uint64_t first = request.argument[0] * group_;
    return this->updating(0, worker, [first, end = first + group_, view = view_] {
      uint64_t updates = 0;
      for (uint64_t i = first; i < end; ++i) {
        auto* const element = view.element(i);
        for (uint64_t w = 0; w < view.words; ++w) {
          const uint64_t after = element[w] + 1;
          element[w] = after;
          if (i == first && w == 0) {
            updates = after - mix64(i * view.words);
          }
        }
      }
      return updates;
    });
  }

 protected:
  /// The shape of a new array. An existing heap keeps its own.
  struct Shape {
    uint64_t groups;
    uint64_t elements;  ///< of a group
    uint64_t words;     ///< of an element
  };

  ElementStreamRunner(H& heap, const Parameters& parameters, const Shape& shape)
      : SmallWorkload<H, ElementStreamRoot<H>>(heap, parameters), shape_(shape) {}

  uint64_t first_word(uint64_t element, uint64_t word) const {
    return mix64(element * view_.words + word);
  }
  uint64_t groups() const { return view_.entries / group_; }

  Status bound() override {
    Status status = this->heap_.read([&] {
      group_ = this->root_->group;
      view_ = this->root_->array.view();
    });
    const auto workers = static_cast<uint64_t>(this->workers());
    next_.clear();
    for (uint64_t worker = 0; status.ok() && worker < workers; ++worker) {
      next_.push_back({worker * groups() / workers});
    }
    return status;
  }

  struct alignas(kLineBytes) Next {
    uint64_t group = 0;
  };

  Shape shape_;
  ElementStreamModel model_;
  uint64_t group_ = 1;
  typename ElementArray<H>::View view_;
  std::vector<Next> next_;
};

/// The runner with its judge. check() finds a group whose words tell different numbers of updates.
/// Only the ledger shows the loss of whole transactions.
template <class Runner>
class ElementStreamJudge : public SmallJudge<Runner> {
 public:
  using SmallJudge<Runner>::SmallJudge;

  Result<ModelState> observe() override {
    return this->observing([&]() -> Result<ModelState> {
      ModelState updates;
      for (uint64_t group = 0; group < this->groups(); ++group) {
        const Result<uint64_t> found = updates_of(group);
        if (!found.ok()) {
          return found.status();
        }
        updates.push_back(found.value());
      }
      return updates;
    });
  }

  Status check() override { return observe().status(); }

 private:
  Result<uint64_t> updates_of(uint64_t group) const {
    const uint64_t first = group * this->group_;
    const uint64_t updates = this->view_.element(first)[0].load() - this->first_word(first, 0);
    for (uint64_t i = first; i < first + this->group_; ++i) {
      for (uint64_t w = 0; w < this->view_.words; ++w) {
        const uint64_t found = this->view_.element(i)[w].load() - this->first_word(i, w);
        if (found != updates) {
          return Status(Code::corrupt,
                        std::string(this->info().name) + ": group " + std::to_string(group) +
                            " had " + std::to_string(updates) + " updates by its first word, and " +
                            std::to_string(found) + " by word " + std::to_string(w) +
                            " of element " + std::to_string(i));
        }
      }
    }
    return updates;
  }
};

}  // namespace holdfast
