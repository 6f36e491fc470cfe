// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/catalog.h"

#include "holdfast/engines/engine.h"
#include "holdfast/runner/engine_table.h"
#include "holdfast/runner/environment.h"
#include "holdfast/workloads/registry.h"

namespace holdfast {
namespace {

const char* to_text(Layout layout) {
  switch (layout) {
    case Layout::in_place:
      return "in place";
    case Layout::twin:
      return "twin copies";
    case Layout::working_copy:
      return "private working copy";
  }
  return "unknown";
}

Json parameters(const WorkloadInfo& info) {
  Json list = Json::array();
  for (const ParameterInfo& p : info.parameters) {
    list.push_back({{"name", p.name}, {"fallback", p.fallback}, {"help", p.help}});
  }
  return list;
}

Json describe(const Description& d) {
  Json options = Json::array();
  for (size_t i = 0; i < d.option_count; ++i) {
    const OptionInfo& o = d.options[i];
    options.push_back({{"name", o.name}, {"fallback", o.fallback}, {"help", o.help}});
  }
  return {{"name", d.name},
          {"title", d.title},
          // What an engine needs of hardware transactions, `soft` provides on every processor.
          {"supported", true},
          {"reason", ""},
          {"paper", d.paper},
          {"isolation", to_string(d.isolation)},
          {"durability", to_string(d.durability)},
          {"layout", to_text(d.layout)},
          {"needs_htm", d.needs_htm},
          {"log", d.log},
          {"fences", d.fences},
          {"options", options}};
}

Json domains() {
  return {
      {{"name", "process"}, {"survives", "a killed process, not a power cut"}},
      {{"name", "file"}, {"survives", "a power cut, on any disk"}},
      {{"name", "pmem"}, {"survives", "a power cut, on persistent memory"}},
      {{"name", "eadr"}, {"survives", "a power cut, with caches inside the persistence domain"}}};
}

}  // namespace

Json engine_catalog() {
  Json list = Json::array();
  for (const NativeEngine& engine : native_engines()) {
    list.push_back(describe(*engine.description));
  }
  return list;
}

Json workload_catalog() {
  Json list = Json::array();
  for (const WorkloadInfo* info : workload_infos()) {
    Json operations = Json::array();
    for (const char* operation : info->operations) {
      operations.push_back(operation);
    }
    list.push_back({{"name", info->name},
                    {"title", info->title},
                    {"supported", true},
                    {"reason", ""},
                    {"operations", operations},
                    {"parameters", parameters(*info)}});
  }
  return list;
}

Json machine_catalog() {
  const Json here = processor();
  return {{{"name", "native"},
           {"title", "this computer"},
           {"supported", true},
           {"reason", ""},
           {"model", here["model"]},
           {"features", here["features"]},
           {"htm", "soft (software, on every processor)"},
           {"domains", domains()}},
          {{"name", "sim"},
           {"title",
            "simulated machine: threads, store buffers, hardware transactions, persistent memory; "
            "no time yet"},
           {"supported", true},
           {"reason", ""},
           {"htm", "sim (capacity in lines, requester wins)"},
           {"domains", domains()}}};
}

}  // namespace holdfast
