// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/crash/canary.h"

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "holdfast/runner/crash/crash.h"

namespace holdfast {
namespace {

/// The searches, from cheap to thorough. Most bugs show within a few schedules of one transaction
/// per thread. Some need logs that wrap around, a crash in recovery, or transactions after it.
Json stages() {
  const auto stage = [](int schedules, int transactions, int points, int images, int crash_recovery,
                        int go_on, int reads) {
    return Json{{"schedules", schedules}, {"transactions", transactions},     {"points", points},
                {"images", images},       {"crash_recovery", crash_recovery}, {"go_on", go_on},
                {"reads", reads}};
  };
  return {stage(60, 1, 100, 16, 16, 16, 35), stage(60, 3, 60, 8, 16, 8, 35),
          stage(30, 2, 30, 8, 2, 2, 35), stage(150, 6, 60, 4, 64, 32, 35),
          stage(600, 3, 40, 4, 64, 64, 60)};
}

Json to_json(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, value] : *table) {
      object[std::string(key.str())] = to_json(value);
    }
    return object;
  }
  if (const auto text = node.value<std::string>(); text && node.is_string()) {
    return *text;
  }
  if (const auto flag = node.value<bool>(); flag && node.is_boolean()) {
    return *flag;
  }
  if (const auto number = node.value<int64_t>(); number && node.is_integer()) {
    return *number;
  }
  return node.value<double>().value_or(0);
}

std::string text_of(const toml::table& row, const char* name, const std::string& where) {
  const auto text = row[name].value<std::string>();
  if (!text) {
    throw Error(Status(Code::invalid_argument, where + ": a canary needs `" + name + "`, a text"));
  }
  return *text;
}

/// In the order of their names.
std::vector<std::filesystem::path> files_in(const std::string& directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".toml") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void load_file(const std::string& file, std::vector<Canary>& all) {
  try {
    const toml::table root = toml::parse_file(file);
    const toml::array* rows = root["canary"].as_array();
    for (size_t i = 0; rows != nullptr && i < rows->size(); ++i) {
      const toml::table& row = *(*rows)[i].as_table();
      const std::string where = file + ":" + std::to_string(row.source().begin.line);
      all.push_back({text_of(row, "engine", where), text_of(row, "mutation", where),
                     text_of(row, "bug", where),
                     row.contains("needs") ? to_json(*row.get("needs")) : Json::object()});
    }
  } catch (const toml::parse_error& error) {
    std::ostringstream text;
    text << file << ":" << error.source().begin.line << ": " << error.description();
    throw Error(Status(Code::invalid_argument, text.str()));
  }
}

}  // namespace

Result<std::vector<Canary>> load_canaries(const std::string& directory) {
  return guarded([&] {
    std::vector<Canary> all;
    for (const auto& file : files_in(directory.empty() ? HOLDFAST_CANARIES : directory)) {
      load_file(file.string(), all);
    }
    return all;
  });
}

Json spec_of(const Canary& canary) {
  Json spec = canary.needs;
  spec["engine"] = canary.engine;
  spec["mutation"] = canary.mutation;
  return spec;
}

Result<Json> hunt(const Json& spec, Progress progress) {
  return guarded([&] {
    Json base = spec;
    const int least = base.value("transactions", 1);
    base.erase("transactions");
    base["mutations"] = Json::array({base.at("mutation")});
    base.erase("mutation");
    base["minimise"] = false;
    const size_t most = base.value("searches", stages().size());
    base.erase("searches");
    if (base.contains("design") && !base.contains("machine")) {
      base["machine"] = "tiny";
    }
    const bool registers = base.value("workload", crash_registers_info().name) ==
                           crash_registers_info().name;  // a structure has parameters of its own
    Json report;
    Json last;
    const Json all = stages();
    for (size_t i = 0; i < std::min(most, all.size()); ++i) {
      Json search = all[i];
      search.update(base);  // the caller's settings override the search's
      Json parameters = base.value("params", Json::object());
      parameters["transactions"] =
          std::to_string(std::max(least, all[i]["transactions"].get<int>()));
      search.erase("transactions");
      if (registers && !parameters.contains("reads")) {
        parameters["reads"] = std::to_string(all[i]["reads"].get<int>());
      }
      search.erase("reads");
      search["params"] = parameters;
      if (search == last) {
        continue;  // with the caller's settings both searches are equal
      }
      last = search;
      progress(static_cast<double>(i) / static_cast<double>(all.size()), "hunt");
      report = crash(search, [](double, const std::string&) {}).value();
      report["stage"] = i + 1;
      report["stages"] = all.size();
      const bool only_created = report["mutated"] == 0 && report["mutated_in_creation"] > 0;
      if (!report["violations"].empty() || only_created) {
        break;  // each search makes the same heap
      }
    }
    return report;
  });
}

}  // namespace holdfast
