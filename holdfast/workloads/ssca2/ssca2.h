// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "holdfast/workloads/parts/rmat.h"
#include "holdfast/workloads/parts/small_workload.h"
#include "holdfast/workloads/ssca2/graph_model.h"

namespace holdfast {

const WorkloadInfo& ssca2_info();

template <class H>
struct Ssca2Root {
  template <class T>
  using Field = typename H::template Field<T>;
  using Word = Field<uint64_t>;
  static constexpr const char* kTypeName = "holdfast.workload.Ssca2";
  static constexpr uint32_t kTypeVersion = 1;

  Ssca2Root(int workers, const RmatList& list)
      : ledger(workers),
        edges(list),
        first(allocate(list.vertices() + 1)),
        count(allocate(list.vertices())),
        slot(allocate(list.size)) {}
  /// Calls visit(block, bytes) for the ledger's blocks and the arrays, and not for the root object.
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    const uint64_t vertices = edges.load().vertices();
    ledger.visit_blocks(visit);
    visit(static_cast<const void*>(first.load()), (vertices + 1) * sizeof(Word));
    visit(static_cast<const void*>(count.load()), vertices * sizeof(Word));
    visit(static_cast<const void*>(slot.load()), edges.size * sizeof(Word));
  }

  Ledger<H> ledger;
  StoredRmatList<H> edges;  ///< of the complete graph
  Field<Word*> first;       ///< of each vertex its first slot, and the number of slots
  Field<Word*> count;       ///< of each vertex its slots in use
  Field<Word*> slot;        ///< to << 32 | number of the edge + 1; 0: free

 private:
  static Word* allocate(uint64_t words) {
    return static_cast<Word*>(H::allocate(words * sizeof(Word)));
  }
};

/// Kernel 1 of the benchmark SSCA2 version 2 (Bader, Madduri, HiPC 2005), which cc-HTM measures in
/// figures 3 to 7: threads build the adjacency arrays of a graph from a list of edges. Written
/// anew. The out-degrees of the vertices are known, so that each vertex has its range of slots. A
/// transaction puts one edge into the next slot of its vertex: three loads and two stores.
///
///   scale    the graph has 2^scale vertices, 1 to 20
///   degree   edges per vertex on average; the default makes 45.1 million edges at scale 20
///   ack      1: each transaction also counts in its worker's durable ledger
///
/// An existing heap keeps its own graph. The list of edges is computed (parts/rmat.h). Each of the
/// announced workers has an equal share of it, every n-th edge, and adds these edges in order. A
/// worker that has added its share removes it again, last edge first, and begins anew. So a run can
/// take any time, and a part of the kernel is a run that ends before a worker has added its share.
/// After attach() a worker continues where the heap ends.
///
/// Up to as many workers may run at once as set_up() announced; others get invalid_argument.
template <class H>
class Ssca2Runner : public SmallWorkload<H, Ssca2Root<H>> {
 public:
  static const WorkloadInfo& static_info() { return ssca2_info(); }

  Ssca2Runner(H& heap, const Parameters& parameters)
      : SmallWorkload<H, Ssca2Root<H>>(heap, parameters), edges_(RmatList::of(parameters)) {}

  const WorkloadInfo& info() const override { return static_info(); }

  Status set_up(int workers, uint64_t seed) override {
    edges_.seed = seed;
    std::vector<uint64_t> first(edges_.vertices() + 1);
    for (uint64_t i = 0; i < edges_.size; ++i) {
      first[edges_[i].from + 1] += 1;
    }
    for (uint64_t vertex = 0; vertex < edges_.vertices(); ++vertex) {
      first[vertex + 1] += first[vertex];
    }
    empty_ = true;
    Status status = this->create_root(workers, edges_);
    empty_ = false;
    if (status.ok()) {
      status = this->in_batches(first.size(), [&](uint64_t i) { first_[i] = first[i]; });
    }
    if (status.ok()) {
      status = this->in_batches(edges_.vertices(), [&](uint64_t i) { count_[i] = 0; });
    }
    if (status.ok()) {
      status = this->in_batches(edges_.size, [&](uint64_t i) { slot_[i] = 0; });
    }
    return status;
  }

  const SequentialModel* model() const override { return &model_; }

  Request draw(int worker, Random&) override {
    this->require(worker);
    const uint64_t share = share_of(worker);
    if (share == 0) {
      throw Error(Status(Code::invalid_argument, "ssca2: worker " + std::to_string(worker) +
                                                     " has no edges; raise scale or degree"));
    }
    Cursor& cursor = cursors_[static_cast<size_t>(worker)];
    if (cursor.next == share) {
      cursor.removing = true;
    } else if (cursor.next == 0) {
      cursor.removing = false;
    }
    const uint64_t edge = edge_of(worker, cursor.removing ? --cursor.next : cursor.next++);
    return {cursor.removing ? GraphModel::kRemove : GraphModel::kAdd,
            {edges_[edge].from, word_of(edge)}};
  }

  OperationResult operation(int worker, Random& random) override {
    return perform(worker, draw(worker, random));
  }

  OperationResult perform(int worker, const Request& request) override {
    const uint64_t vertex = request.argument[0];
    const uint64_t word = request.argument[1];
    return this->updating(request.kind, worker, [&] {
      return request.kind == GraphModel::kAdd ? add(vertex, word) : remove(vertex, word);
    });
  }

 protected:
  struct alignas(kLineBytes) Cursor {
    uint64_t next = 0;  ///< so many first edges of the worker's share are in the graph
    bool removing = false;
  };

  /// The number of edges of a worker. It has every n-th edge of the list, for n workers.
  uint64_t share_of(int worker) const {
    const auto all = static_cast<uint64_t>(this->workers());
    return (edges_.size + all - 1 - static_cast<uint64_t>(worker)) / all;
  }
  uint64_t edge_of(int worker, uint64_t i) const {
    return static_cast<uint64_t>(worker) + i * static_cast<uint64_t>(this->workers());
  }
  uint64_t word_of(uint64_t edge) const { return edges_[edge].to << 32 | (edge + 1); }

  /// Returns the position among the vertex's edges.
  uint64_t add(uint64_t vertex, uint64_t word) {
    const uint64_t first = first_[vertex];
    const uint64_t count = count_[vertex];
    if (first + count == first_[vertex + 1]) {
      return GraphModel::kNone;
    }
    slot_[first + count] = word;
    count_[vertex] = count + 1;
    return count;
  }

  uint64_t remove(uint64_t vertex, uint64_t word) {
    const uint64_t first = first_[vertex];
    const uint64_t count = count_[vertex];
    for (uint64_t i = count; i-- > 0;) {
      if (slot_[first + i] == word) {
        if (i + 1 != count) {
          slot_[first + i] = slot_[first + count - 1].load();
        }
        slot_[first + count - 1] = 0;
        count_[vertex] = count - 1;
        return i;
      }
    }
    return GraphModel::kNone;
  }

  /// Returns how many of the worker's edges are in the graph: the first ones of its share.
  uint64_t find_end(int worker) const {
    uint64_t low = 0;
    uint64_t high = share_of(worker);
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (has(edge_of(worker, middle))) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  bool has(uint64_t edge) const {
    const uint64_t vertex = edges_[edge].from;
    const uint64_t word = word_of(edge);
    const uint64_t first = first_[vertex];
    for (uint64_t i = count_[vertex]; i-- > 0;) {
      if (slot_[first + i] == word) {
        return true;
      }
    }
    return false;
  }

  Status bound() override {
    cursors_.assign(static_cast<size_t>(this->workers()), Cursor{});
    return this->heap_.read([&] {
      edges_ = this->root_->edges.load();
      first_ = this->root_->first;
      count_ = this->root_->count;
      slot_ = this->root_->slot;
      for (int worker = 0; worker < this->workers(); ++worker) {
        cursors_[static_cast<size_t>(worker)].next = empty_ ? 0 : find_end(worker);
      }
    });
  }

  RmatList edges_;
  bool empty_ = false;  ///< set_up() has not stored to the arrays yet
  GraphModel model_;
  typename Ssca2Root<H>::Word* first_ = nullptr;
  typename Ssca2Root<H>::Word* count_ = nullptr;
  typename Ssca2Root<H>::Word* slot_ = nullptr;
  std::vector<Cursor> cursors_;
};

/// The runner with its judge. check() compares the graph with the list of edges: each vertex has as
/// many slots as edges, the slots in use hold different edges of this vertex, the others are empty,
/// and each worker's edges in the graph are the first ones of its share.
template <class H>
class Ssca2 final : public SmallJudge<Ssca2Runner<H>> {
 public:
  using SmallJudge<Ssca2Runner<H>>::SmallJudge;

  Result<ModelState> observe() override {
    return this->observing([&]() -> Result<ModelState> {
      const uint64_t vertices = this->edges_.vertices();
      ModelState state = {vertices};
      for (uint64_t i = 0; i <= vertices; ++i) {
        state.push_back(this->first_[i]);
      }
      for (uint64_t i = 0; i < vertices; ++i) {
        state.push_back(this->count_[i]);
      }
      for (uint64_t i = 0; i < this->edges_.size; ++i) {
        state.push_back(this->slot_[i]);
      }
      return state;
    });
  }

  Status check() override {
    return this->in_read([&]() -> Status {
      std::vector<bool> there(this->edges_.size);
      if (Status status = check_ranges(); !status.ok()) {
        return status;
      }
      for (uint64_t vertex = 0; vertex < this->edges_.vertices(); ++vertex) {
        if (Status status = check_vertex(vertex, there); !status.ok()) {
          return status;
        }
      }
      return check_shares(there);
    });
  }

 private:
  static Status corrupt(const std::string& text) { return Status(Code::corrupt, "ssca2: " + text); }

  Status check_ranges() {
    std::vector<uint64_t> degree(this->edges_.vertices());
    for (uint64_t i = 0; i < this->edges_.size; ++i) {
      degree[this->edges_[i].from] += 1;
    }
    uint64_t first = 0;
    for (uint64_t vertex = 0; vertex < degree.size(); ++vertex) {
      if (this->first_[vertex] != first) {
        return corrupt("the slots of vertex " + std::to_string(vertex) + " begin at " +
                       std::to_string(this->first_[vertex]) + " instead of " +
                       std::to_string(first));
      }
      first += degree[vertex];
    }
    return this->first_[degree.size()] == first ? Status() : corrupt("the last slot is wrong");
  }

  Status check_vertex(uint64_t vertex, std::vector<bool>& there) {
    const std::string at = "vertex " + std::to_string(vertex);
    const uint64_t first = this->first_[vertex];
    const uint64_t slots = this->first_[vertex + 1] - first;
    const uint64_t count = this->count_[vertex];
    if (count > slots) {
      return corrupt(at + " has " + std::to_string(count) + " edges in " + std::to_string(slots) +
                     " slots");
    }
    for (uint64_t i = 0; i < slots; ++i) {
      const uint64_t word = this->slot_[first + i];
      const uint64_t edge = (word & 0xffffffff) - 1;
      if (i >= count ? word != 0 : edge >= this->edges_.size || word != this->word_of(edge)) {
        return corrupt("slot " + std::to_string(i) + " of " + at + ", which has " +
                       std::to_string(count) + " edges, holds " + std::to_string(word));
      }
      if (i < count && (this->edges_[edge].from != vertex || there[edge])) {
        return corrupt(at + " has edge " + std::to_string(edge) +
                       (there[edge] ? " twice" : " of another vertex"));
      }
      if (i < count) {
        there[edge] = true;
      }
    }
    return {};
  }

  Status check_shares(const std::vector<bool>& there) {
    for (int worker = 0; worker < this->workers(); ++worker) {
      for (uint64_t i = 0; i + 1 < this->share_of(worker); ++i) {
        const uint64_t edge = this->edge_of(worker, i);
        if (!there[edge] && there[this->edge_of(worker, i + 1)]) {
          return corrupt("edge " + std::to_string(edge) + " of worker " + std::to_string(worker) +
                         " is missing; the next one is there");
        }
      }
    }
    return {};
  }
};

/// The registry's row.
using Ssca2Workload = WorkloadRow<ssca2_info, Ssca2Runner, Ssca2>;

}  // namespace holdfast
