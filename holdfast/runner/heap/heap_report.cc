// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/heap/heap_report.h"

namespace holdfast {

Json to_json(const HeapFindings& findings) {
  const HeapCheck& check = findings.heap;
  Json report = {{"ok", check.ok()},
                 {"problems", check.errors},
                 {"allocated_blocks", check.allocated_blocks},
                 {"allocated_bytes", check.allocated_bytes},
                 {"free_blocks", check.free_blocks},
                 {"free_bytes", check.free_bytes},
                 {"unused_bytes", check.unused_bytes},
                 {"leaked_blocks", check.leaked_blocks},
                 {"leaked_bytes", check.leaked_bytes},
                 {"verified_pages", check.verified_pages},
                 {"roots", Json::array()}};
  for (const auto& [root, outcome] : findings.roots) {
    report["roots"].push_back({{"name", root.name},
                               {"type", root.type},
                               {"version", root.version},
                               {"bytes", root.bytes},
                               {"check", outcome}});
  }
  return report;
}

}  // namespace holdfast
