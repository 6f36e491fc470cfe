// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/sessions/judge.h"

#include "holdfast/workloads/registry.h"

namespace holdfast {
namespace {

/// Workloads keep everything below a root that has their name.
Status check_root(HeapAtRest& heap, const WorkloadInfo& info) {
  Status attached;
  for (const auto& given : root_variants(info)) {
    const auto judge = make_judge(info.name, heap, Parameters::make(info, given).value());
    attached = judge->attach();
    if (attached.ok()) {
      return judge->check();
    }
    if (attached.code() != Code::type_mismatch) {
      break;
    }
  }
  return attached;
}

}  // namespace

std::unique_ptr<WorkloadInstance> make_judge(const std::string& name, HeapAtRest& heap,
                                             const Parameters& parameters) {
  return make_workload(name, heap, parameters);
}

HeapFindings walk(HeapAtRest& heap) {
  HeapFindings findings{heap.check().value(), {}};
  for (const RootInfo& root : heap.list_roots()) {
    const auto info = find_workload(root.name);
    findings.roots.push_back({root, "unknown type: not walked"});
    if (info.ok()) {
      const Status found = check_root(heap, *info.value());
      findings.roots.back().outcome = found.to_string();
      if (!found.ok()) {
        findings.heap.error("root " + root.name + ": " + found.message());
      }
    }
  }
  return findings;
}

}  // namespace holdfast
