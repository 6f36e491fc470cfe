// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>

#include "holdfast/workloads/binary_heap/binary_heap_model.h"
#include "holdfast/workloads/parts/payload.h"
#include "holdfast/workloads/parts/small_workload.h"

namespace holdfast {

const WorkloadInfo& binary_heap_info();

/// A binary heap in one array, with the least key in front. An entry is a key and its payload,
/// which move together. The array does not grow: a copy of it in one transaction would fill the
/// log.
template <class H>
struct BinaryHeapRoot {
  template <class T>
  using Field = typename H::template Field<T>;
  static constexpr const char* kTypeName = "holdfast.workload.BinaryHeap";
  static constexpr uint32_t kTypeVersion = 1;

  BinaryHeapRoot(int workers, uint64_t most, uint64_t entry_words)
      : size(0),
        sum(0),
        capacity(most),
        words(entry_words),
        word(static_cast<Field<uint64_t>*>(H::allocate(bytes()))),
        ledger(workers) {}
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    ledger.visit_blocks(visit);
    visit(static_cast<const void*>(word.load()), bytes());
  }

  /// The place and shape of the entries, which never change.
  struct Entries {
    Field<uint64_t>* word;
    uint64_t words;  ///< of an entry

    Field<uint64_t>* operator[](uint64_t i) const { return word + i * words; }
    uint64_t key(uint64_t i) const { return (*this)[i][0]; }
    Payload payload(uint64_t of_key) const { return Payload(of_key, words - 1); }
    void move(uint64_t from, uint64_t to) const {
      for (uint64_t w = 0; w < words; ++w) {
        (*this)[to][w] = (*this)[from][w].load();
      }
    }
  };
  Entries entries() const { return {word, words}; }
  /// The share of an entry with this key in the sum.
  static uint64_t weight(uint64_t key) { return mix64(key); }

  /// Returns false, changing nothing, if the heap is full.
  bool insert(uint64_t key) {
    uint64_t hole = size;
    if (hole == capacity) {
      return false;
    }
    size = hole + 1;
    sum += weight(key);
    const Entries entry = entries();
    while (hole > 0) {
      const uint64_t parent = (hole - 1) / 2;
      if (entry.key(parent) <= key) {
        break;
      }
      entry.move(parent, hole);
      hole = parent;
    }
    entry[hole][0] = key;
    entry.payload(key).store(entry[hole] + 1);
    return true;
  }

  /// Answers the least key and 1, or 0 and 0, changing nothing, if the heap is empty.
  Response remove_min() {
    const uint64_t before = size;
    if (before == 0) {
      return {0, 0};
    }
    const Entries entry = entries();
    const uint64_t least = entry.key(0);
    const uint64_t last = before - 1;
    const uint64_t key = entry.key(last);
    size = last;
    sum -= weight(least);
    uint64_t hole = 0;
    for (uint64_t child = 1; child < last; child = 2 * hole + 1) {
      if (child + 1 < last && entry.key(child + 1) < entry.key(child)) {
        ++child;
      }
      if (key <= entry.key(child)) {
        break;
      }
      entry.move(child, hole);
      hole = child;
    }
    if (hole != last) {
      entry.move(last, hole);
    }
    return {least, 1};
  }

  // The sum and the size are on one line, so that the sum costs no line of its own.
  alignas(kLineBytes) Field<uint64_t> size;
  Field<uint64_t> sum;  ///< of the weights of all keys
  Field<uint64_t> capacity;
  Field<uint64_t> words;  ///< of an entry
  Field<Field<uint64_t>*> word;
  Ledger<H> ledger;

 private:
  size_t bytes() const { return capacity * words * sizeof(Field<uint64_t>); }
};

/// Binary Heap of Hercules (section 5.1, table 4): each transaction inserts a random key with its
/// payload into a binary heap, or removes the least key.
///
///   size      entries of a new heap; an existing heap keeps its entries, their size and the
///             capacity
///   capacity  entries that fit; 0: twice the size and 1,000 more
///   bytes     size of an entry with its key, a multiple of 8
///   inserts   per cent of the transactions that insert
///   ack       1: each transaction also counts in its worker's durable ledger
///
/// An insert into a full heap, and a removal from an empty one, change nothing.
///
/// Up to as many workers may run at once as set_up() announced; others get invalid_argument.
template <class H>
class BinaryHeapRunner : public SmallWorkload<H, BinaryHeapRoot<H>> {
 public:
  BinaryHeapRunner(H& heap, const Parameters& parameters)
      : SmallWorkload<H, BinaryHeapRoot<H>>(heap, parameters),
        size_(static_cast<uint64_t>(parameters.number("size", 0, kMost))),
        capacity_(static_cast<uint64_t>(parameters.number("capacity", 0, 2 * kMost + 1000))),
        words_(words_of(parameters, "bytes", 1 << 20)),
        inserts_(parameters, "inserts") {
    capacity_ = capacity_ == 0 ? 2 * size_ + 1000 : capacity_;
    if (capacity_ < size_) {
      throw Error(Status(Code::invalid_argument,
                         "capacity=" + std::to_string(capacity_) +
                             " has no room for size=" + std::to_string(size_) + " entries"));
    }
  }

  const WorkloadInfo& info() const override { return binary_heap_info(); }

  Status set_up(int workers, uint64_t seed) override {
    Status status = this->create_root(workers, capacity_, words_);
    const auto insert = [&](uint64_t i) { this->root_->insert(mix64(seed + i)); };
    return status.ok() ? this->in_batches(size_, insert, words_) : status;
  }

  const SequentialModel* model() const override { return &model_; }

  Request draw(int worker, Random& random) override {
    this->require(worker);
    return inserts_.draw(random) ? Request{BinaryHeapModel::kInsert, {random.next()}}
                                 : Request{BinaryHeapModel::kRemoveMin, {}};
  }

  OperationResult operation(int worker, Random& random) override {
    return perform(worker, draw(worker, random));
  }

  OperationResult perform(int worker, const Request& request) override {
    auto& root = *this->root_;
    if (request.kind == BinaryHeapModel::kInsert) {
      return this->updating(request.kind, worker,
                            [&] { return uint64_t{root.insert(request.argument[0])}; });
    }
    return this->updating(request.kind, worker, [&] { return root.remove_min(); });
  }

 private:
  static constexpr int64_t kMost = int64_t{1} << 30;

  uint64_t size_;
  uint64_t capacity_;
  uint64_t words_;
  Chance inserts_;
  BinaryHeapModel model_;
};

/// The runner with its judge. check() examines the order of keys, the payloads, and the sum of the
/// keys: a lost or a doubled entry changes it. Only the ledger shows the loss of whole
/// transactions.
template <class H>
class BinaryHeap final : public SmallJudge<BinaryHeapRunner<H>> {
 public:
  using SmallJudge<BinaryHeapRunner<H>>::SmallJudge;

  Result<ModelState> observe() override {
    return this->observing([&]() -> Result<ModelState> {
      if (Status status = examine(); !status.ok()) {
        return status;
      }
      ModelState state = {this->root_->capacity};
      for (uint64_t i = 0, n = this->root_->size; i < n; ++i) {
        state.push_back(this->root_->entries().key(i));
      }
      std::sort(state.begin() + 1, state.end());
      return state;
    });
  }

  Status check() override {
    return this->in_read([&] { return examine(); });
  }

 private:
  static Status corrupt(const std::string& text) {
    return Status(Code::corrupt, "binary-heap: " + text);
  }

  Status examine() const {
    const auto& root = *this->root_;
    const auto entry = root.entries();
    const uint64_t size = root.size;
    if (size > root.capacity) {
      return corrupt("its size is greater than its capacity");
    }
    uint64_t sum = 0;
    for (uint64_t i = 0; i < size; ++i) {
      const uint64_t key = entry.key(i);
      if (i > 0 && key < entry.key((i - 1) / 2)) {
        return corrupt("the key of entry " + std::to_string(i) + " is less than its parent's");
      }
      if (!entry.payload(key).stored(entry[i] + 1)) {
        return corrupt("the payload of entry " + std::to_string(i) + " is not that of its key");
      }
      sum += root.weight(key);
    }
    if (sum != root.sum) {
      return corrupt("an entry is missing, or there twice: the sum of the keys is wrong");
    }
    return {};
  }
};

/// The registry's row.
using BinaryHeapWorkload = WorkloadRow<binary_heap_info, BinaryHeapRunner, BinaryHeap>;

}  // namespace holdfast
