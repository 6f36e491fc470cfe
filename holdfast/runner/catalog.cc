// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/catalog.h"

#include <set>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/hardware/designs.h"
#include "holdfast/machine/native/htm/htm_support.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/runner/sessions/engine_table.h"
#include "holdfast/runner/spec/environment.h"
#include "holdfast/runner/spec/machines.h"
#include "holdfast/workloads/catalogue.h"

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
    case Layout::cells:
      return "cells of value and sequence";
  }
  return "unknown";
}

Json describe(std::span<const OptionInfo> options) {
  Json list = Json::array();
  for (const OptionInfo& option : options) {
    list.push_back({{"name", option.name}, {"fallback", option.fallback}, {"help", option.help}});
  }
  return list;
}

Json describe(const Description& d) {
  return {{"name", d.name},
          {"title", d.title},
          // Every processor can run every engine: `soft` provides hardware transactions.
          {"supported", true},
          {"reason", ""},
          {"paper", d.paper},
          {"isolation", to_string(d.isolation)},
          {"durability", to_string(d.durability)},
          {"layout", to_text(d.layout)},
          {"needs_htm", d.needs_htm},
          {"needs_design", d.needs_design},
          {"needs_lasting_caches", d.needs_lasting_caches},
          {"lags", d.lags},
          {"log", d.log},
          {"fences", d.fences},
          {"options", describe(d.option_list())}};
}

Json domains() {
  return {
      {{"name", "process"}, {"survives", "a killed process, not a power cut"}},
      {{"name", "file"}, {"survives", "a power cut, on any disk"}},
      {{"name", "pmem"}, {"survives", "a power cut, on persistent memory"}},
      {{"name", "eadr"}, {"survives", "a power cut, with caches inside the persistence domain"}}};
}

std::string describe(const HtmDescription& htm) {
  if (!htm.present) {
    return "none";
  }
  std::string text = "stores and loads";
  text += htm.rollback_only ? ", stores only" : "";
  text += htm.suspend ? ", suspend" : htm.suspend_load_tracking ? ", suspend of load tracking" : "";
  return text;
}

/// The backends that `bench --htm` can use on this computer.
Json htm_backends() {
  Json list = Json::array();
  for (const HtmBackend backend : {HtmBackend::soft, HtmBackend::rtm, HtmBackend::power}) {
    const native::HtmSupport& support = native::htm_support(backend);
    HtmDescription offers;
    offers.present = support.present;
    offers.rollback_only = support.untracked_loads;
    offers.suspend = support.suspend;
    offers.suspend_load_tracking = support.suspend_loads;
    list.push_back({{"name", to_string(backend)},
                    {"supported", support.present},
                    {"offers", support.present ? describe(offers) : ""},
                    {"reason", support.reason}});
  }
  return list;
}

std::string present_htm() {
  for (const HtmBackend backend : {HtmBackend::rtm, HtmBackend::power}) {
    if (native::htm_support(backend).present) {
      return std::string(to_string(backend)) + ", and soft (software, on every processor)";
    }
  }
  return "soft (software, on every processor)";
}

Json describe(const std::string& name, const Result<MachineDescription>& machine) {
  if (!machine.ok()) {
    return {{"name", name},
            {"title", "a description with a mistake"},
            {"supported", false},
            {"reason", machine.status().message()}};
  }
  const MachineDescription& m = machine.value();
  return {{"name", name},
          {"title", m.title},
          {"supported", true},
          {"reason", ""},
          {"cores", m.cores * m.sockets},
          {"smt", m.smt},
          {"threads", m.hardware_threads()},
          {"line_bytes", m.line_bytes},
          {"htm", describe(m.htm)},
          {"domains", domains()}};
}

}  // namespace

Json engine_catalog() {
  Json list = Json::array();
  std::set<std::string> native;
  for (const NativeEngine& engine : native_engines()) {
    native.insert(engine.description->name);
    list.push_back(describe(*engine.description));
    list.back()["simulated_only"] = false;
    list.back()["replays"] = engine.replays;
  }
  for (const auto& row : engine_rows<SimMachine>()) {
    if (!native.contains(row.description->name)) {
      list.push_back(describe(*row.description));
      list.back()["simulated_only"] = true;
      list.back()["replays"] = row.replays;
      list.back()["supported"] = false;
      list.back()["reason"] =
          row.description->needs_design
              ? "only on a simulated machine with a hardware design (sim --design)"
              : "only on a simulated machine (sim)";
    }
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
                    {"parameters", describe(info->parameters)}});
  }
  return list;
}

Json design_catalog() {
  Json list = Json::array();
  for (const DesignInfo& info : hardware_designs()) {
    list.push_back({{"name", info.name},
                    {"title", info.title},
                    {"supported", true},
                    {"reason", ""},
                    {"source", info.source},
                    {"survives", info.survives},
                    {"durable", info.durable},
                    {"options", describe(info.options)}});
  }
  return list;
}

Json machine_catalog(const std::string& directory) {
  const Json here = processor();
  Json list = {{{"name", "native"},
                {"title", "this computer"},
                {"supported", true},
                {"reason", ""},
                {"model", here["model"]},
                {"features", here["features"]},
                {"htm", present_htm()},
                {"htm_backends", htm_backends()},
                {"domains", domains()}},
               {{"name", "sim"},
                {"title", "functional, random schedule, no time"},
                {"supported", true},
                {"reason", ""},
                {"htm", "sim (capacity in lines, requester wins)"},
                {"domains", domains()}}};
  for (const std::string& name : machine_names(directory)) {
    list.push_back(describe(name, find_machine(name, directory)));
  }
  return list;
}

}  // namespace holdfast
