// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "holdfast/workloads/parts/element_array.h"
#include "holdfast/workloads/parts/rmat.h"
#include "holdfast/workloads/parts/small_workload.h"
#include "holdfast/workloads/sdg/toggle_model.h"

namespace holdfast {

const WorkloadInfo& sdg_info();

/// A vertex with a sorted array of its edges, each a word. An insert or an erase moves the words
/// behind its place. A full array is replaced by one of twice the size.
template <class H>
struct alignas(kLineBytes) SdgVertex {
  using Word = typename H::template Field<uint64_t>;
  static constexpr uint64_t kLeastRoom = 8;

  Word count;
  Word room;
  typename H::template Field<Word*> edge;

  void clear() {
    count = 0;
    room = 0;
    edge = nullptr;
  }
  bool has(uint64_t word) const {
    const uint64_t at = place_of(word);
    return at < count && edge.load()[at] == word;
  }
  /// The word must be new.
  void insert(uint64_t word) {
    const uint64_t edges = count;
    const uint64_t at = place_of(word);
    Word* const from = edge;
    Word* to = from;
    if (edges == room) {
      const uint64_t larger = std::max(2 * edges, kLeastRoom);
      to = static_cast<Word*>(H::allocate(larger * sizeof(Word)));
      for (uint64_t i = 0; i < at; ++i) {
        to[i] = from[i].load();
      }
      room = larger;
      edge = to;
    }
    for (uint64_t i = edges; i > at; --i) {
      to[i] = from[i - 1].load();
    }
    to[at] = word;
    count = edges + 1;
    if (from != to && from != nullptr) {
      H::deallocate(from, edges * sizeof(Word));
    }
  }
  void erase(uint64_t word) {
    const uint64_t left = count - 1;
    Word* const words = edge;
    for (uint64_t i = place_of(word); i < left; ++i) {
      words[i] = words[i + 1].load();
    }
    count = left;
  }

 private:
  /// The number of edges with smaller words.
  uint64_t place_of(uint64_t word) const {
    const Word* const words = edge;
    uint64_t low = 0;
    uint64_t high = count;
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (words[middle] < word) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

template <class H>
struct SdgRoot {
  template <class T>
  using Field = typename H::template Field<T>;
  using Vertex = SdgVertex<H>;
  static constexpr const char* kTypeName = "holdfast.workload.Sdg";
  static constexpr uint32_t kTypeVersion = 1;

  SdgRoot(int workers, const RmatList& list, uint64_t record_words)
      : ledger(workers),
        edges(list),
        vertex(static_cast<Vertex*>(H::allocate(list.vertices() * sizeof(Vertex)))),
        record(list.vertices(), record_words) {}
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    const uint64_t vertices = edges.load().vertices();
    const Vertex* const all = vertex;
    ledger.visit_blocks(visit);
    record.visit_blocks(visit);
    visit(static_cast<const void*>(all), vertices * sizeof(Vertex));
    for (uint64_t v = 0; v < vertices; ++v) {
      if (all[v].room != 0) {
        visit(static_cast<const void*>(all[v].edge.load()),
              all[v].room * sizeof(typename Vertex::Word));
      }
    }
  }

  Ledger<H> ledger;
  StoredRmatList<H> edges;  ///< that may be in the graph
  Field<Vertex*> vertex;
  ElementArray<H> record;  ///< of each vertex
};

/// SDG of Hercules (section 5.1, table 4): edges are inserted into a scalable large graph, and
/// deleted from it. The legible text does not tell the structure. This one was written anew, over
/// the edges of SSCA2's generator (parts/rmat.h), which lead in both directions here.
///
///   scale   the graph has 2^scale vertices, 1 to 20
///   degree  edges per vertex that may be there; half of them are there at the start
///   bytes   record of a vertex, a multiple of 8; each record begins a line
///   ack     1: each transaction also counts in its worker's durable ledger
///
/// An existing heap keeps its own graph. A transaction chooses one of the possible edges. It
/// inserts the edge if the graph does not have it, and deletes it otherwise. At both ends it
/// changes the sorted array of edges, and rewrites the vertex's record. Word w of the record of
/// vertex v is mix64(v * words + w) plus the number of changes so far. So each word tells the
/// number of changes, whose parity is that of the edges come and gone.
///
/// Up to as many workers may run at once as set_up() announced; others get invalid_argument.
template <class H>
class SdgRunner : public SmallWorkload<H, SdgRoot<H>> {
 public:
  static const WorkloadInfo& static_info() { return sdg_info(); }

  SdgRunner(H& heap, const Parameters& parameters)
      : SmallWorkload<H, SdgRoot<H>>(heap, parameters),
        edges_(RmatList::of(parameters)),
        words_(words_of(parameters, "bytes", ElementArray<H>::kMostBytes)) {}

  const WorkloadInfo& info() const override { return static_info(); }

  Status set_up(int workers, uint64_t seed) override {
    constexpr uint64_t kWordsMoved = 64;  // by an insert into two arrays, about
    edges_.seed = seed;
    Status status = this->create_root(workers, edges_, words_);
    if (status.ok()) {
      status = this->in_batches(
          record_.entries,
          [&](uint64_t v) {
            vertex_[v].clear();
            auto* const record = record_.element(v);
            for (uint64_t w = 0; w < record_.words; ++w) {
              record[w] = first_word(v, w);
            }
          },
          record_.words);
    }
    if (status.ok()) {
      status = this->in_batches(
          edges_.size,
          [&](uint64_t i) {
            if (starts_inside(i)) {
              const Ends ends = ends_of(i);
              vertex_[ends.a].insert(ends.word_at_a);
              vertex_[ends.b].insert(ends.word_at_b);
            }
          },
          kWordsMoved);
    }
    return status;
  }

  const SequentialModel* model() const override { return &model_; }

  Request draw(int worker, Random& random) override {
    this->require(worker);
    return {0, {random.below(edges_.size)}};
  }

  OperationResult operation(int worker, Random& random) override {
    return perform(worker, draw(worker, random));
  }

  /// Answers 1 if the edge was inserted, and 0 if it was deleted.
  OperationResult perform(int worker, const Request& request) override {
    const Ends ends = ends_of(request.argument[0]);
    return this->updating(0, worker, [&] {
      const bool there = vertex_[ends.a].has(ends.word_at_a);
      change(ends.a, ends.word_at_a, there);
      change(ends.b, ends.word_at_b, there);
      return uint64_t{!there};
    });
  }

 protected:
  struct Ends {
    uint64_t a;
    uint64_t b;
    uint64_t word_at_a;  ///< other end << 32 | number of the edge
    uint64_t word_at_b;
  };

  /// The ends of an edge, which differ: an edge of the generator that leads back to its vertex
  /// leads to the vertex beside it here.
  Ends ends_of(uint64_t i) const {
    const RmatEdges::Edge edge = edges_[i];
    const uint64_t to = edge.to == edge.from ? edge.to ^ 1 : edge.to;
    return {edge.from, to, to << 32 | i, edge.from << 32 | i};
  }
  static bool starts_inside(uint64_t edge) { return edge % 2 == 0; }
  uint64_t first_word(uint64_t vertex, uint64_t word) const {
    return mix64(vertex * record_.words + word);
  }

  void change(uint64_t v, uint64_t word, bool there) {
    if (there) {
      vertex_[v].erase(word);
    } else {
      vertex_[v].insert(word);
    }
    auto* const record = record_.element(v);
    for (uint64_t w = 0; w < record_.words; ++w) {
      record[w] = record[w] + 1;
    }
  }

  Status bound() override {
    return this->heap_.read(this->partitions_, [&] {
      edges_ = this->root_->edges.load();
      vertex_ = this->root_->vertex;
      record_ = this->root_->record.view();
    });
  }

  RmatList edges_;
  uint64_t words_;
  ToggleModel model_;
  SdgVertex<H>* vertex_ = nullptr;
  typename ElementArray<H>::View record_;
};

/// The runner with its judge. check() compares the graph with the edges of the generator, each of
/// which must be at both of its ends or at none, and the records with the numbers of edges. Only
/// the ledger shows the loss of whole transactions.
template <class H>
class Sdg final : public SmallJudge<SdgRunner<H>> {
 public:
  using SmallJudge<SdgRunner<H>>::SmallJudge;

  Result<ModelState> observe() override {
    return this->observing([&]() -> Result<ModelState> {
      KeyedContent content;
      for (uint64_t v = 0; v < this->record_.entries; ++v) {
        const auto& vertex = this->vertex_[v];
        for (uint64_t i = 0; i < vertex.count; ++i) {
          const uint64_t edge = vertex.edge.load()[i] & kEdgeMask;
          if (this->ends_of(edge).a == v) {
            content.add(edge, 1);
          }
        }
      }
      return content.state();
    });
  }

  Status check() override {
    return this->in_read([&]() -> Status {
      std::vector<uint8_t> seen(this->edges_.size);
      std::vector<uint8_t> odd_start(this->record_.entries);
      for (uint64_t i = 0; i < this->edges_.size; ++i) {
        if (this->starts_inside(i)) {
          odd_start[this->ends_of(i).a] ^= 1;
          odd_start[this->ends_of(i).b] ^= 1;
        }
      }
      for (uint64_t v = 0; v < this->record_.entries; ++v) {
        Status status = check_edges(v, seen);
        if (status.ok()) {
          status = check_record(v, odd_start[v]);
        }
        if (!status.ok()) {
          return status;
        }
      }
      for (uint64_t i = 0; i < this->edges_.size; ++i) {
        if (seen[i] == 1) {
          return corrupt("edge " + std::to_string(i) + " is at one of its ends only");
        }
      }
      return {};
    });
  }

 private:
  static constexpr uint64_t kEdgeMask = 0xffffffff;

  static Status corrupt(const std::string& text) { return Status(Code::corrupt, "sdg: " + text); }

  /// Counts in `seen` the ends at which an edge is.
  Status check_edges(uint64_t v, std::vector<uint8_t>& seen) const {
    const auto& vertex = this->vertex_[v];
    const std::string at = "vertex " + std::to_string(v);
    const uint64_t count = vertex.count;
    if (count > vertex.room || count > 2 * this->edges_.size) {
      return corrupt(at + " has " + std::to_string(count) + " edges, and no room for them");
    }
    uint64_t before = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t word = vertex.edge.load()[i];
      const uint64_t edge = word & kEdgeMask;
      if (edge >= this->edges_.size) {
        return corrupt(at + " has edge " + std::to_string(edge) + ", which does not exist");
      }
      const auto ends = this->ends_of(edge);
      if (!(ends.a == v && ends.word_at_a == word) && !(ends.b == v && ends.word_at_b == word)) {
        return corrupt(at + " has edge " + std::to_string(edge) + " of other vertices");
      }
      if (i > 0 && word <= before) {
        return corrupt(at + " has its edges out of order");
      }
      before = word;
      seen[edge] += 1;
    }
    return {};
  }

  Status check_record(uint64_t v, bool odd_start) const {
    const auto* const record = this->record_.element(v);
    const uint64_t changes = record[0].load() - this->first_word(v, 0);
    for (uint64_t w = 1; w < this->record_.words; ++w) {
      if (record[w].load() - this->first_word(v, w) != changes) {
        return corrupt("the record of vertex " + std::to_string(v) + " is torn at word " +
                       std::to_string(w));
      }
    }
    const uint64_t edges = this->vertex_[v].count;
    if ((changes + edges + (odd_start ? 1 : 0)) % 2 != 0) {
      return corrupt("vertex " + std::to_string(v) + " has " + std::to_string(edges) +
                     " edges, which contradicts its " + std::to_string(changes) + " changes");
    }
    return {};
  }
};

/// The registry's row.
using SdgWorkload = WorkloadRow<sdg_info, SdgRunner, Sdg>;

}  // namespace holdfast
