// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/heap_report.h"

namespace holdfast {

Json to_json(const HeapCheck& check) {
  return {{"ok", check.ok()},
          {"problems", check.errors},
          {"allocated_blocks", check.allocated_blocks},
          {"allocated_bytes", check.allocated_bytes},
          {"free_blocks", check.free_blocks},
          {"free_bytes", check.free_bytes},
          {"unused_bytes", check.unused_bytes},
          {"leaked_blocks", check.leaked_blocks},
          {"leaked_bytes", check.leaked_bytes}};
}

Json to_json(const RootInfo& root) {
  return {
      {"name", root.name}, {"type", root.type}, {"version", root.version}, {"bytes", root.bytes}};
}

void add_problem(Json& report, const std::string& problem) {
  report["ok"] = false;
  report["problems"].push_back(problem);
}

}  // namespace holdfast
