// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "holdfast/workloads/array_swap/array_swap_model.h"
#include "holdfast/workloads/parts/element_array.h"
#include "holdfast/workloads/parts/small_workload.h"

namespace holdfast {

const WorkloadInfo& array_swap_info();

template <class H>
struct ArraySwapRoot {
  static constexpr const char* kTypeName = "holdfast.workload.ArraySwap";
  static constexpr uint32_t kTypeVersion = 1;

  ArraySwapRoot(int workers, uint64_t entries, uint64_t words)
      : ledger(workers), array(entries, words) {}
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    ledger.visit_blocks(visit);
    array.visit_blocks(visit);
  }

  Ledger<H> ledger;
  ElementArray<H> array;
};

/// Array Swap of Hercules (section 5.1, table 4), with the elements of Kiln's string swaps: each
/// transaction swaps two different random elements of an array. With 256 bytes it writes 8 lines.
///
///   entries  elements of a new array; an existing heap keeps its own number and size
///   bytes    size of an element, a multiple of 8; each element begins a line
///   ack      1: each transaction also counts in its worker's durable ledger
///
/// Each word of an element tells its element and its place in it: word w of element i is
/// i * words + w. So a check notices an element whose words come from two elements.
///
/// Up to as many workers may run at once as set_up() announced; others get invalid_argument.
template <class H>
class ArraySwapRunner : public SmallWorkload<H, ArraySwapRoot<H>> {
 public:
  static const WorkloadInfo& static_info() { return array_swap_info(); }

  ArraySwapRunner(H& heap, const Parameters& parameters)
      : SmallWorkload<H, ArraySwapRoot<H>>(heap, parameters),
        entries_(static_cast<uint64_t>(parameters.number("entries", 2, int64_t{1} << 30))),
        words_(words_of(parameters, "bytes", ElementArray<H>::kMostBytes)) {}

  const WorkloadInfo& info() const override { return static_info(); }

  Status set_up(int workers, uint64_t) override {
    Status status = this->create_root(workers, entries_, words_);
    if (!status.ok()) {
      return status;
    }
    const auto fill = [&](uint64_t i) {
      auto* const element = view_.element(i);
      for (uint64_t w = 0; w < view_.words; ++w) {
        element[w] = i * view_.words + w;
      }
    };
    return this->in_batches(view_.entries, fill, view_.words);
  }

  const SequentialModel* model() const override { return &model_; }

  Request draw(int worker, Random& random) override {
    this->require(worker);
    const uint64_t a = random.below(view_.entries);
    const uint64_t b = random.below(view_.entries - 1);
    return {0, {a, b < a ? b : b + 1}};
  }

  OperationResult operation(int worker, Random& random) override {
    return perform(worker, draw(worker, random));
  }

  OperationResult perform(int worker, const Request& request) override {
    return this->updating(0, worker, [&request, view = view_] {
      auto* const a = view.element(request.argument[0]);
      auto* const b = view.element(request.argument[1]);
      Response before = {};
      for (uint64_t w = 0; w < view.words; ++w) {
        const uint64_t word = a[w];
        const uint64_t other = b[w];
        a[w] = other;
        b[w] = word;
        if (w == 0) {
          before = {word / view.words, other / view.words};
        }
      }
      return before;
    });
  }

 protected:
  Status bound() override {
    return this->heap_.read([&] { view_ = this->root_->array.view(); });
  }

  uint64_t entries_;
  uint64_t words_;
  ArraySwapModel model_;
  typename ElementArray<H>::View view_;
};

/// The runner with its judge. check() finds a torn element, an element that is none, and one that
/// is there twice. It does not notice the loss of whole transactions, because any subset of swaps
/// gives a permutation. Only the ledger shows that.
template <class H>
class ArraySwap final : public SmallJudge<ArraySwapRunner<H>> {
 public:
  using SmallJudge<ArraySwapRunner<H>>::SmallJudge;

  Result<ModelState> observe() override {
    return this->observing([&]() -> Result<ModelState> {
      ModelState elements;
      for (uint64_t i = 0; i < this->view_.entries; ++i) {
        const Result<uint64_t> found = element_at(i);
        if (!found.ok()) {
          return found.status();
        }
        elements.push_back(found.value());
      }
      return elements;
    });
  }

  Status check() override {
    return this->in_read([&]() -> Status {
      std::vector<bool> seen(this->view_.entries);
      for (uint64_t i = 0; i < this->view_.entries; ++i) {
        const Result<uint64_t> found = element_at(i);
        if (!found.ok()) {
          return found.status();
        }
        if (seen[found.value()]) {
          return corrupt(i, "holds element " + std::to_string(found.value()) + " a second time");
        }
        seen[found.value()] = true;
      }
      return {};
    });
  }

 private:
  static Status corrupt(uint64_t place, const std::string& text) {
    return Status(Code::corrupt, "array-swap: place " + std::to_string(place) + " " + text);
  }

  /// The number of the element at a place, if it is whole.
  Result<uint64_t> element_at(uint64_t place) const {
    const auto* const element = this->view_.element(place);
    const uint64_t words = this->view_.words;
    const uint64_t first = element[0];
    if (first % words != 0 || first / words >= this->view_.entries) {
      return corrupt(place, "begins with " + std::to_string(first) + ", as no element does");
    }
    for (uint64_t w = 1; w < words; ++w) {
      if (const uint64_t found = element[w]; found != first + w) {
        return corrupt(place, "is torn: its word " + std::to_string(w) + " is " +
                                  std::to_string(found) + ", and not " + std::to_string(first + w));
      }
    }
    return first / words;
  }
};

/// The registry's row.
using ArraySwapWorkload = WorkloadRow<array_swap_info, ArraySwapRunner, ArraySwap>;

}  // namespace holdfast
