// SPDX-License-Identifier: Apache-2.0
//
// Ordering the versions of objects that have blind writes (dependency_graph.h).
#include <algorithm>
#include <unordered_set>

#include "holdfast/check/isolation/dependency_graph.h"
#include "holdfast/check/isolation/reachability.h"

namespace holdfast::check {
namespace {

struct OrderedRun : Run {
  uint32_t head = 0;              ///< the transaction of the blind write; 0 for the initial run
  std::vector<uint32_t> readers;  ///< the readers of the run's last version
};

/// The runs of one object, the initial one first, and the pairs with a known order.
struct Runs {
  Object object = 0;
  std::vector<OrderedRun> runs;
  std::unordered_set<uint64_t> before;  ///< pair(a, b)

  static uint64_t pair(size_t a, size_t b) { return uint64_t{a} << 32 | b; }
};

class BlindOrder {
 public:
  BlindOrder(DependencyGraph& dependencies, bool real_time)
      : dependencies_(dependencies),
        versions_(dependencies.versions()),
        graph_(dependencies.graph()),
        real_time_(real_time) {}

  void run();

 private:
  void find_runs();
  void find_readers();
  void put_initial_run_first(const Runs& runs);
  void order_by_time(Runs& runs);
  bool order_by_reachability(Runs& runs, const Reachability& reachability);
  /// Puts run a before run b. Returns false if their order was known before. The first of two
  /// contradictory orders stays: its edges already close the cycle that the second one would add.
  bool put_before(Runs& runs, size_t a, size_t b);
  bool impossible(const OrderedRun& a, const OrderedRun& b, const Reachability& reachability) const;

  DependencyGraph& dependencies_;
  const VersionTable& versions_;
  Graph& graph_;
  const bool real_time_;
  std::vector<Runs> objects_;  // objects with blind writes
};

void BlindOrder::find_runs() {
  constexpr size_t kNone = ~size_t{0};
  std::vector<size_t> place(versions_.history().objects, kNone);
  for (WriteId id = 0; id < versions_.size(); ++id) {
    const Write& write = versions_[id];
    if (!write.last || write.previous != kNotLooked || !versions_.effective(write.transaction)) {
      continue;
    }
    size_t& at = place[write.object];
    if (at == kNone) {
      at = objects_.size();
      objects_.push_back({write.object, {}, {}});
      objects_.back().runs.push_back({dependencies_.run_from(kInitial, write.object), 0, {}});
    }
    objects_[at].runs.push_back({dependencies_.run_from(id, write.object), write.transaction, {}});
  }
}

void BlindOrder::find_readers() {
  std::vector<OrderedRun*> of_version(versions_.size(), nullptr);
  std::vector<OrderedRun*> of_initial(versions_.history().objects, nullptr);
  for (Runs& runs : objects_) {
    for (OrderedRun& run : runs.runs) {
      (run.last == kInitial ? of_initial[runs.object] : of_version[run.last]) = &run;
    }
  }
  for (uint32_t t = 1; t <= versions_.transactions(); ++t) {
    for (const Observation& seen : versions_.observations(t)) {
      OrderedRun* run = seen.write == kInitial ? of_initial[seen.object]
                        : is_write(seen.write) ? of_version[seen.write]
                                               : nullptr;
      if (run != nullptr) {
        run->readers.push_back(t);
      }
    }
  }
}

bool BlindOrder::put_before(Runs& runs, size_t a, size_t b) {
  if (runs.before.count(Runs::pair(b, a)) > 0 || !runs.before.insert(Runs::pair(a, b)).second) {
    return false;
  }
  const OrderedRun& first = runs.runs[a];
  const OrderedRun& second = runs.runs[b];
  graph_.add({.from = dependencies_.commit(first.members.back()),
              .to = dependencies_.start(second.head),
              .kind = EdgeKind::write_write,
              .object = runs.object});
  for (const uint32_t reader : first.readers) {
    if (reader != second.head) {
      graph_.add({.from = dependencies_.start(reader),
                  .to = dependencies_.commit(second.head),
                  .kind = EdgeKind::read_write,
                  .object = runs.object});
    }
  }
  return true;
}

/// Puts all readers of the initial run's last version before all blind writes. There may be many of
/// both, so the edges lead through one node in the middle.
void BlindOrder::put_initial_run_first(const Runs& runs) {
  const OrderedRun& initial = runs.runs[0];
  const uint32_t middle = graph_.add_node({});
  for (const uint32_t reader : initial.readers) {
    graph_.add({.from = dependencies_.start(reader),
                .to = middle,
                .kind = EdgeKind::read_write,
                .object = runs.object});
  }
  for (size_t b = 1; b < runs.runs.size(); ++b) {
    graph_.add({.from = middle,
                .to = dependencies_.commit(runs.runs[b].head),
                .kind = EdgeKind::read_write,
                .free = true,
                .object = runs.object});
    if (!initial.members.empty()) {
      graph_.add({.from = dependencies_.commit(initial.members.back()),
                  .to = dependencies_.start(runs.runs[b].head),
                  .kind = EdgeKind::write_write,
                  .object = runs.object});
    }
  }
}

/// Orders runs by real time. It adds only the immediate successors of each run, as many as there
/// are transactions at a time.
void BlindOrder::order_by_time(Runs& runs) {
  std::vector<size_t> by_begin(runs.runs.size() - 1);
  for (size_t i = 0; i < by_begin.size(); ++i) {
    by_begin[i] = i + 1;
  }
  std::sort(by_begin.begin(), by_begin.end(), [&runs](size_t a, size_t b) {
    return runs.runs[a].latest_begin < runs.runs[b].latest_begin;
  });
  for (size_t a = 1; a < runs.runs.size(); ++a) {
    const uint64_t end = runs.runs[a].earliest_end;
    uint64_t next_ends = kForever;  // a run that begins later follows a successor of a
    auto b = std::upper_bound(
        by_begin.begin(), by_begin.end(), end,
        [&runs](uint64_t time, size_t run) { return time < runs.runs[run].latest_begin; });
    for (; b != by_begin.end() && runs.runs[*b].latest_begin <= next_ends; ++b) {
      if (*b != a) {
        put_before(runs, a, *b);
        next_ends = std::min(next_ends, runs.runs[*b].earliest_end);
      }
    }
  }
}

/// Returns whether a cycle would exist if `a` came before `b`.
bool BlindOrder::impossible(const OrderedRun& a, const OrderedRun& b,
                            const Reachability& reachability) const {
  if (reachability(dependencies_.start(b.head), dependencies_.commit(a.members.back()))) {
    return true;
  }
  return std::any_of(a.readers.begin(), a.readers.end(), [&](uint32_t reader) {
    return reader != b.head &&
           reachability(dependencies_.commit(b.head), dependencies_.start(reader));
  });
}

bool BlindOrder::order_by_reachability(Runs& runs, const Reachability& reachability) {
  bool news = false;
  for (size_t a = 1; a < runs.runs.size(); ++a) {
    for (size_t b = 1; b < runs.runs.size(); ++b) {
      if (a != b && runs.before.count(Runs::pair(a, b)) == 0 &&
          impossible(runs.runs[b], runs.runs[a], reachability)) {
        news |= put_before(runs, a, b);
      }
    }
  }
  return news;
}

void BlindOrder::run() {
  find_runs();
  find_readers();
  for (Runs& runs : objects_) {
    put_initial_run_first(runs);
    if (real_time_) {
      order_by_time(runs);
    }
  }
  graph_.index();
  bool news = !objects_.empty() && graph_.nodes() <= kExhaustiveNodes;
  while (news) {
    const Components components = check::components(graph_);
    if (!components.acyclic()) {
      return;
    }
    const Reachability reachability(graph_, components, real_time_);
    news = false;
    for (Runs& runs : objects_) {
      news |= order_by_reachability(runs, reachability);
    }
    graph_.index();
  }
}

}  // namespace

void order_blind_writes(DependencyGraph& dependencies, bool real_time) {
  BlindOrder(dependencies, real_time).run();
}

}  // namespace holdfast::check
