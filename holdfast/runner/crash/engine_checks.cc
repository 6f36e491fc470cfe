// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/crash/engine_checks.h"

#include <algorithm>
#include <set>
#include <utility>

#include "holdfast/base/catalogue.h"
#include "holdfast/machine/sim/description/mutation.h"
#include "holdfast/runner/crash/checks_file.h"
#include "holdfast/runner/crash/engine_sources.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

struct NamedLintKind {
  const char* name;
  LintKind kind;
};
constexpr NamedLintKind kLintKinds[] = {
    {"not_written_back", LintKind::not_written_back},
    {"not_fenced", LintKind::not_fenced},
    {"redundant_write_back", LintKind::redundant_write_back},
    {"empty_fence", LintKind::empty_fence},
    {"stray_store", LintKind::stray_store},
};

[[noreturn]] void refuse(const std::string& text) {
  throw Error(Status(Code::invalid_argument, text));
}

Phase parse_phase(const std::string& name) {
  std::vector<std::string> names;
  for (int phase = 0; phase < kPhases; ++phase) {
    names.emplace_back(to_string(static_cast<Phase>(phase)));
  }
  const std::string* found = find_row("phase", name, names, Code::invalid_argument).value();
  return static_cast<Phase>(found - names.data());
}

/// An engine while its rows are collected. Keys say which rows are about one thing.
template <class T>
using Ranked = std::map<std::string, std::pair<bool, T>>;  ///< true: a row of its own folder
struct Collected {
  const EngineSource* source = nullptr;
  EngineChecks checks;
  Ranked<Canary> canaries;
  Ranked<HarmlessBug> harmless;
  Ranked<CoveredPhase> phases;
  Ranked<UnreachedLabel> unreached;
  Ranked<UnreachedProbe> unreached_probes;
  Ranked<UnreachedProbe> native_unreached_probes;
};

/// Adds a row under its key. A row of the engine's own folder replaces one of a part.
template <class T>
void add(Ranked<T>& rows, const std::string& key, bool own, T row) {
  const auto [at, fresh] = rows.try_emplace(key, own, row);
  if (!fresh && at->second.first == own) {
    refuse("a second row about " + key);
  }
  if (!fresh && own) {
    at->second = {true, std::move(row)};
  }
}

class Loader {
 public:
  explicit Loader(const fs::path& directory)
      : directory_(directory.empty() ? engines_directory() : directory),
        sources_(std::move(read_engine_sources(directory_)).value()) {
    for (const EngineSource& source : sources_) {
      engines_.emplace_back().source = &source;
    }
  }

  std::map<std::string, EngineChecks> load() {
    std::vector<std::pair<fs::path, CheckRow>> rows;
    for (const fs::path& file : checks_files(directory_)) {
      for (CheckRow& row : read_checks_file(file)) {
        rows.emplace_back(file.parent_path().lexically_relative(directory_), std::move(row));
      }
    }
    // First the rows that leave others out.
    for (const bool exceptions : {true, false}) {
      for (const auto& [folder, row] : rows) {
        if (exceptions == (row.table == "unreached" || row.table == "harmless")) {
          add_row_of(folder, row);
        }
      }
    }
    std::map<std::string, EngineChecks> all;
    for (Collected& engine : engines_) {
      all[engine.source->name] = finished(engine);
    }
    return all;
  }

 private:
  /// Calls f(engine, own) for each engine that the row about a label, or about a probe, holds for.
  template <class F>
  void for_label(const fs::path& folder, const std::vector<std::string>& named,
                 const std::string& label, F&& f,
                 NamesOfHeaders EngineSource::* names = &EngineSource::labels) {
    const std::string what = names == &EngineSource::labels ? "label" : "probe";
    bool found = false;
    for (Collected& engine : engines_) {
      const NamesOfHeaders& known = engine.source->*names;
      const bool own = engine.source->folder == folder;
      const bool has = known.count(label) == 1;
      const bool chosen = named.empty() ? has && (own || has_name_in(known, folder, label))
                                        : is_named(engine, named);
      if (chosen && !has) {
        refuse("engine " + engine.source->name + " has no " + what + " '" + label + "'");
      }
      if (chosen) {
        found = true;
        f(engine, own);
      }
    }
    if (!found) {
      refuse("no engine of this folder has the " + what + " '" + label + "'");
    }
  }

  /// Calls f(engine) for each engine that a row about no label holds for.
  template <class F>
  void for_folder(const fs::path& folder, const std::vector<std::string>& named, F&& f) {
    bool found = false;
    for (Collected& engine : engines_) {
      if (named.empty() ? engine.source->folder == folder : is_named(engine, named)) {
        found = true;
        f(engine);
      }
    }
    if (!found) {
      refuse("holds for no engine: a part has rows about labels only");
    }
  }

  static bool is_named(const Collected& engine, const std::vector<std::string>& named) {
    return std::find(named.begin(), named.end(), engine.source->name) != named.end();
  }

  void add_row_of(const fs::path& folder, const CheckRow& row) {
    try {
      add_row(folder, row);
    } catch (const Error& error) {
      refuse(row.where + ": [[" + row.table + "]] " + error.status().message());
    }
  }

  void add_row(const fs::path& folder, const CheckRow& row) {
    using Adder = void (Loader::*)(const fs::path&, Fields&, const std::vector<std::string>&);
    static const std::map<std::string, Adder> tables = {
        {"canary", &Loader::add_canary},         {"harmless", &Loader::add_harmless},
        {"finding", &Loader::add_finding},       {"variant", &Loader::add_variant},
        {"phase", &Loader::add_phase},           {"order", &Loader::add_order},
        {"rare_paths", &Loader::add_rare_paths}, {"unreached", &Loader::add_unreached}};
    const auto table = tables.find(row.table);
    if (table == tables.end()) {
      std::vector<std::string> names;
      for (const auto& [name, adder] : tables) {
        names.push_back(name);
      }
      throw Error(unknown_name("table", row.table, names, Code::invalid_argument));
    }
    Fields fields(row.fields, "the row");
    const std::vector<std::string> named = fields.texts("engines");
    for (const std::string& name : named) {
      find_row("engine", name, sources_, Code::invalid_argument).status().check();
    }
    (this->*table->second)(folder, fields, named);
    fields.finish();
  }

  void add_canary(const fs::path& folder, Fields& fields, const std::vector<std::string>& named) {
    Canary canary{.engine = {},
                  .mutation = fields.text("mutation", ""),
                  .setting = fields.text("setting", ""),
                  .bug = fields.required_text("bug"),
                  .needs = fields.object("needs")};
    const auto put = [&](Collected& engine, bool own) {
      canary.engine = engine.source->name;
      add(engine.canaries, canary.mutation + canary.setting, own, canary);
    };
    if (canary.mutation.empty() == canary.setting.empty()) {
      refuse("needs either a mutation or a setting");
    }
    if (canary.mutation.empty()) {
      return for_folder(folder, named, [&](Collected& engine) { put(engine, true); });
    }
    const std::string site = parse_mutation(canary.mutation).value().site;
    for_label(folder, named, site, [&](Collected& engine, bool own) {
      // A bug may be harmless in the usual setting only: then its canary names the engine.
      const bool harmless = named.empty() && engine.harmless.count(canary.mutation) == 1;
      if (!is_unreached(engine, named, site) && !harmless) {
        put(engine, own);
      }
    });
  }

  void add_harmless(const fs::path& folder, Fields& fields, const std::vector<std::string>& named) {
    const std::string reason = fields.required_text("reason");
    for (const std::string& text : fields.texts("mutations")) {
      // "label=*": every kind
      const bool every = text.ends_with("=*");
      for (const MutationKind kind : kMutationKinds) {
        const std::string mutation =
            every ? text.substr(0, text.size() - 1) + to_string(kind) : text;
        for_label(folder, named, parse_mutation(mutation).value().site,
                  [&](Collected& engine, bool own) {
                    add(engine.harmless, mutation, own, HarmlessBug{mutation, reason});
                  });
        if (!every) {
          break;
        }
      }
    }
  }

  void add_finding(const fs::path& folder, Fields& fields, const std::vector<std::string>& named) {
    const std::string kind = fields.required_text("kind");
    const ExpectedFinding finding{
        .kind = find_row("finding", kind, kLintKinds, Code::invalid_argument).value()->kind,
        .where = fields.required_text("where"),
        .reason = fields.required_text("reason")};
    for_folder(folder, named,
               [&](Collected& engine) { engine.checks.findings.push_back(finding); });
  }

  /// The suites that a row about rare paths is for.
  struct Suites {
    bool crash = false;
    bool native = false;
  };

  static Suites suites_of(Fields& fields, const std::vector<std::string>& unsaid) {
    static const std::vector<std::string> known = {"crash", "native"};
    const auto given = fields.texts("suites");
    Suites suites;
    for (const std::string& name : given.empty() ? unsaid : given) {
      const auto* found = find_row("suite", name, known, Code::invalid_argument).value();
      (found == &known[0] ? suites.crash : suites.native) = true;
    }
    return suites;
  }

  void add_variant(const fs::path& folder, Fields& fields, const std::vector<std::string>& named) {
    const Suites suites = suites_of(fields, {"crash", "native"});
    const EngineVariant variant{.name = fields.required_text("name"),
                                .options = fields.map("options"),
                                .rmw_orders_pwb = fields.flag("rmw_orders_pwb", true),
                                .transactions = fields.text("transactions", "3"),
                                .program = fields.text("program", ""),
                                .params = fields.map("params"),
                                .workload = fields.text("workload", ""),
                                .schedules = static_cast<int>(
                                    fields.number("schedules", EngineVariant{}.schedules, 1, 1000)),
                                .journal = fields.flag("journal", false),
                                .design = fields.text("design", ""),
                                .design_options = fields.map("design_options")};
    for_folder(folder, named, [&](Collected& engine) {
      if (suites.crash) {
        engine.checks.variants.push_back(variant);
      }
      if (suites.native) {
        engine.checks.native_variants.push_back(variant);
      }
    });
  }

  void add_phase(const fs::path& folder, Fields& fields, const std::vector<std::string>& named) {
    const CoveredPhase phase{.site = fields.required_text("site"),
                             .phase = parse_phase(fields.required_text("phase")),
                             .options = fields.map("options")};
    std::string key = phase.site;
    for (const auto& [name, value] : phase.options) {
      key.append(" ").append(name).append("=").append(value);
    }
    for_label(folder, named, phase.site, [&](Collected& engine, bool own) {
      if (!is_unreached(engine, named, phase.site)) {
        add(engine.phases, key, own, phase);
      }
    });
  }

  void add_order(const fs::path& folder, Fields& fields, const std::vector<std::string>& named) {
    const auto words = [&](const char* name) {
      return fields.has(name) ? fields.numbers(name, 0, 0, 500) : std::vector<int>{};
    };
    PhaseOrder order{.stores = words("stores"),
                     .loads = words("loads"),
                     .phases = {},
                     .options = fields.map("options")};
    for (const std::string& name : fields.texts("phases")) {
      order.phases.push_back(parse_phase(name));
    }
    for_folder(folder, named, [&](Collected& engine) { engine.checks.orders.push_back(order); });
  }

  void add_rare_paths(const fs::path& folder, Fields& fields,
                      const std::vector<std::string>& named) {
    for (const std::string& name : fields.texts("names")) {
      for_label(
          folder, named, name,
          [&](Collected& engine, bool /*own*/) { engine.checks.rare_paths.insert(name); },
          &EngineSource::probes);
    }
  }

  void add_unreached(const fs::path& folder, Fields& fields,
                     const std::vector<std::string>& named) {
    if (fields.has("probe")) {
      const UnreachedProbe probe{.name = fields.required_text("probe"),
                                 .reason = fields.required_text("reason"),
                                 .by_chance = fields.flag("by_chance", false)};
      const Suites suites = suites_of(fields, {"crash"});
      for_label(
          folder, named, probe.name,
          [&](Collected& engine, bool own) {
            if (suites.crash) {
              add(engine.unreached_probes, probe.name, own, probe);
            }
            if (suites.native) {
              add(engine.native_unreached_probes, probe.name, own, probe);
            }
          },
          &EngineSource::probes);
      return;
    }
    const std::string pattern = fields.required_text("label");
    UnreachedLabel row{.label = {},
                       .reason = fields.required_text("reason"),
                       .by_hunts_only = fields.flag("by_hunts_only", false)};
    for (const std::string& label : labels_like(pattern)) {
      row.label = label;
      for_label(folder, named, label,
                [&](Collected& engine, bool own) { add(engine.unreached, label, own, row); });
    }
  }

  /// The labels that a pattern means: one, or those that begin with it, for a pattern with a star
  /// at its end.
  std::vector<std::string> labels_like(const std::string& pattern) const {
    if (!pattern.ends_with('*')) {
      return {pattern};
    }
    const std::string beginning = pattern.substr(0, pattern.size() - 1);
    std::set<std::string> found;
    for (const EngineSource& source : sources_) {
      for (const auto& [label, files] : source.labels) {
        if (label.starts_with(beginning)) {
          found.insert(label);
        }
      }
    }
    if (found.empty()) {
      refuse("no label begins with '" + beginning + "'");
    }
    return {found.begin(), found.end()};
  }

  EngineChecks finished(Collected& engine) const {
    EngineChecks& checks = engine.checks;
    for (auto& [key, row] : engine.unreached) {
      checks.unreached.push_back(std::move(row.second));
    }
    for (auto& [key, row] : engine.unreached_probes) {
      checks.unreached_probes.push_back(std::move(row.second));
    }
    for (auto& [key, row] : engine.native_unreached_probes) {
      checks.native_unreached_probes.push_back(std::move(row.second));
    }
    for (auto& [key, row] : engine.phases) {
      checks.phases.push_back(std::move(row.second));
    }
    for (auto& [key, row] : engine.canaries) {
      checks.canaries.push_back(std::move(row.second));
    }
    for (auto& [key, row] : engine.harmless) {
      checks.harmless.push_back(std::move(row.second));
    }
    return std::move(checks);
  }

  /// True if the engine never comes to the label. Refuses a row that names the engine all the same.
  static bool is_unreached(const Collected& engine, const std::vector<std::string>& named,
                           const std::string& label) {
    const auto found = engine.unreached.find(label);
    if (found == engine.unreached.end() || found->second.second.by_hunts_only) {
      return false;
    }
    if (is_named(engine, named)) {
      refuse("names engine " + engine.source->name + ", which never reaches " + label);
    }
    return true;
  }

  fs::path directory_;
  std::vector<EngineSource> sources_;
  std::vector<Collected> engines_;
};

}  // namespace

bool EngineChecks::is_unreached(const std::string& label, bool hunts) const {
  return std::any_of(unreached.begin(), unreached.end(), [&](const UnreachedLabel& row) {
    return row.label == label && (hunts || !row.by_hunts_only);
  });
}

Result<std::map<std::string, EngineChecks>> load_engine_checks(const fs::path& directory) {
  return guarded([&] { return Loader(directory).load(); });
}

}  // namespace holdfast
