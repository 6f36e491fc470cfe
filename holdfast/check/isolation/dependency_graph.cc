// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/isolation/dependency_graph.h"

#include <algorithm>

namespace holdfast::check {

DependencyGraph::DependencyGraph(const VersionTable& versions, Isolation isolation)
    : versions_(versions),
      isolation_(isolation),
      replacer_(versions.size(), 0),
      initial_replacer_(versions.history().objects, 0),
      replaced_with_(versions.size(), kGarbage),
      initial_replaced_with_(versions.history().objects, kGarbage) {
  for (WriteId id = 0; id < versions.size(); ++id) {
    const Write& write = versions[id];
    if (!write.last || !versions.effective(write.transaction)) {
      continue;
    }
    if (write.previous == kInitial) {
      initial_replacer_[write.object] = write.transaction;
      initial_replaced_with_[write.object] = id;
    } else if (is_write(write.previous)) {
      replacer_[write.previous] = write.transaction;
      replaced_with_[write.previous] = id;
    }
  }
  add_nodes();
  for (const Transaction& transaction : versions.history().transactions) {
    add_reads(transaction.number);
  }
}

void DependencyGraph::add_nodes() {
  for (const Transaction& transaction : versions_.history().transactions) {
    const Graph::Node node{transaction.number, transaction.begin, transaction.end};
    const uint32_t n = graph_.add_node(node);
    if (isolation_ == Isolation::snapshot) {
      graph_.add({.from = n, .to = graph_.add_node(node), .free = true});
    }
  }
}

void DependencyGraph::add_reads(uint32_t transaction) {
  for (const Observation& seen : versions_.observations(transaction)) {
    if (seen.write == kGarbage) {
      continue;
    }
    const uint32_t replacer = this->replacer(seen.write, seen.object);
    if (is_write(seen.write) && versions_.effective(versions_[seen.write].transaction)) {
      graph_.add({.from = commit(versions_[seen.write].transaction),
                  .to = start(transaction),
                  .kind = replacer == transaction ? EdgeKind::write_write : EdgeKind::write_read,
                  .object = seen.object});
    }
    if (replacer != 0 && replacer != transaction) {
      graph_.add({.from = start(transaction),
                  .to = commit(replacer),
                  .kind = EdgeKind::read_write,
                  .object = seen.object});
    }
  }
}

Run DependencyGraph::run_from(WriteId head, Object object) const {
  Run run;
  WriteId at = head;
  while (at != kGarbage) {
    run.last = at;
    if (is_write(at)) {
      const Transaction& member = versions_.history().at(versions_[at].transaction);
      run.members.push_back(member.number);
      run.earliest_end = std::min(run.earliest_end, member.end);
      run.latest_begin = std::max(run.latest_begin, member.begin);
    }
    at = at == kInitial ? initial_replaced_with_[object] : replaced_with_[at];
  }
  return run;
}

}  // namespace holdfast::check
