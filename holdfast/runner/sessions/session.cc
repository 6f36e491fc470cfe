// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/sessions/session.h"

#include <algorithm>
#include <set>

#include "holdfast/heap/file/superblock.h"
#include "holdfast/machine/native/htm/htm_support.h"
#include "holdfast/runner/spec/json.h"

namespace holdfast {
namespace {

SessionSpec::Open parse_open(const std::string& text) {
  if (text == "create") {
    return SessionSpec::Open::create;
  }
  if (text == "open") {
    return SessionSpec::Open::open;
  }
  if (text == "create_or_open") {
    return SessionSpec::Open::create_or_open;
  }
  throw Error(Status(Code::invalid_argument,
                     "open must be create, open or create_or_open, not '" + text + "'"));
}

std::optional<HtmBackend> parse_htm(const std::string& name) {
  if (name == kAutomaticHtm) {
    return std::nullopt;
  }
  const auto backend = parse_htm_backend(name);
  if (!backend.ok()) {
    throw Error(Status(Code::invalid_argument,
                       backend.status().message() + "; " + kAutomaticHtm + " chooses one"));
  }
  NativeOptions options;
  options.htm_backend = backend.value();
  (void)native::choose_htm(options).value();
  return options.htm_backend;
}

bool has_option(const Description& engine, const std::string& name) {
  return find_row("option", name, engine.option_list()).ok();
}

}  // namespace

std::string describe_htm(const SessionSpec& spec, const std::map<std::string, std::string>& taken) {
  if (spec.htm) {
    return to_string(*spec.htm);
  }
  std::map<std::string, std::string> engines;  // of each backend
  for (const auto& [engine, backend] : taken) {
    if (!backend.empty()) {
      engines[backend] += (engines[backend].empty() ? "" : ", ") + engine;
    }
  }
  std::string text = kAutomaticHtm;
  for (const auto& [backend, names] : engines) {
    text += (text == kAutomaticHtm ? ": " : "; ") + backend + " for " + names;
  }
  return text;
}

SessionSpec SessionSpec::parse_common(Fields& fields) {
  SessionSpec spec;
  spec.workload = fields.text("workload", "");
  spec.parameters = fields.map("params");
  spec.options = fields.map("options");
  spec.bytes = static_cast<size_t>(fields.number("bytes", 0, 0, kMaxHeapBytes));
  spec.max_bytes = static_cast<size_t>(fields.number("max_bytes", 0, 0, kMaxHeapBytes));
  spec.domain = parse_domain(fields.text("domain", "process")).value();
  spec.force = fields.flag("force", false);
  if (const int64_t n = fields.number("journal_bytes", -1, -1, kMostJournalBytes); n >= 0) {
    spec.journal_bytes = static_cast<size_t>(n);
  }
  spec.latency = fields.text("latency", "none");
  spec.htm = parse_htm(fields.text("htm", kAutomaticHtm));
  spec.seed = static_cast<uint64_t>(fields.number("seed", 1, 0, INT64_MAX));
  return spec;
}

SessionSpec SessionSpec::parse(Fields& fields) {
  SessionSpec spec = parse_common(fields);
  spec.engine = fields.text("engine", "");
  spec.path = fields.text("path", "");
  spec.open = parse_open(fields.text("open", "create"));
  spec.threads = static_cast<int>(fields.number("threads", 1, 1, kMaxThreads));
  return spec;
}

Options engine_options(const Description& engine, const std::map<std::string, std::string>& given) {
  Options options;
  const std::string prefix = std::string(engine.name) + ".";
  for (const auto& [name, value] : given) {
    if (has_option(engine, name)) {
      options.emplace(name, value);
    }
  }
  for (const auto& [name, value] : given) {
    if (name.starts_with(prefix)) {
      options[name.substr(prefix.size())] = value;
    }
  }
  return options;
}

Status check_options(const std::vector<const Description*>& engines,
                     const std::map<std::string, std::string>& given) {
  for (const auto& [name, value] : given) {
    const bool taken = std::any_of(engines.begin(), engines.end(), [&](const Description* engine) {
      const std::string prefix = std::string(engine->name) + ".";
      return has_option(*engine, name) ||
             (name.starts_with(prefix) && has_option(*engine, name.substr(prefix.size())));
    });
    if (taken) {
      continue;
    }
    std::vector<std::string> known;
    for (const Description* engine : engines) {
      for (const OptionInfo& option : engine->option_list()) {
        known.push_back(std::string(engine->name) + "." + option.name);
      }
    }
    return Status(Code::invalid_argument, "no engine here has an option '" + name +
                                              "'; there are " +
                                              (known.empty() ? "none" : join(known)));
  }
  return {};
}

}  // namespace holdfast
