// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/description/machine_description.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <system_error>
#include <type_traits>

#include "holdfast/base/toml.h"
#include "holdfast/machine/sim/description/machine_check.h"
#include "holdfast/machine/sim/description/machine_keys.h"

namespace holdfast {
namespace sim {
namespace {

constexpr const char* kKeyLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";

std::string brief(double value) {
  std::ostringstream out;
  out.precision(12);
  out << value;
  return out.str();
}

/// Reads the values of one file into a description. Each member throws Error if the file is wrong.
class DescriptionReader {
 public:
  DescriptionReader(const toml::table& root, const std::string& source)
      : root_(root), source_(source) {}

  MachineDescription read() {
    MachineDescription machine;
    read_keys<MachineDescription>(root_, "", kMachineKeys, machine);
    read_table<CoreDescription>("core", kCoreKeys, machine.core, Need::always);
    read_table<CacheDescription>("l1", kCacheKeys, machine.l1, Need::always);
    read_table<CacheDescription>("l2", kCacheKeys, machine.l2, Need::optional);
    machine.llc.cores = machine.cores;  // the default if the file has no llc.cores
    read_table<CacheDescription>("llc", kCacheKeys, machine.llc, Need::optional);
    read_table<TlbDescription>("tlb", kTlbKeys, machine.tlb, Need::optional);
    read_table<MemoryDescription>("medium", kMemoryKeys, machine.medium, Need::always);
    machine.one_memory =
        !read_table<MemoryDescription>("dram", kMemoryKeys, machine.dram, Need::optional);
    read_table<AitDescription>("ait", kAitKeys, machine.ait, Need::optional);
    read_table<PersistenceDescription>("persistence", kPersistenceKeys, machine.persistence,
                                       Need::always);
    machine.htm.present = read_table<HtmDescription>("htm", kHtmKeys, machine.htm, Need::optional);
    check_needed(machine);
    if (machine.one_memory) {
      machine.dram = machine.medium;
    }
    if (const auto found = find_problem(machine)) {
      refuse(line_of(found->table, found->key),
             path(found->table, found->key) + ": " + found->reason);
    }
    return machine;
  }

 private:
  static constexpr const char* kTables[] = {"core", "l1",     "l2",  "llc",         "tlb",
                                            "dram", "medium", "ait", "persistence", "htm"};

  static std::string path(const std::string& table, const std::string& key) {
    return table.empty() ? key : table + "." + key;
  }

  [[noreturn]] void refuse(uint32_t line, const std::string& reason) const {
    const std::string where = line > 0 ? ":" + std::to_string(line) : "";
    throw Error(Status(Code::invalid_argument, source_ + where + ": " + reason));
  }

  /// The line of a key in the file, else the line of its table, else 0.
  uint32_t line_of(const std::string& table, const std::string& key) const {
    const toml::table* in = table.empty() ? &root_ : root_[table].as_table();
    if (in == nullptr) {
      return 0;
    }
    const toml::node* node = in->get(key);
    return node != nullptr ? node->source().begin.line : in->source().begin.line;
  }

  template <class T>
  bool read_table(const char* name, std::span<const Key<T>> keys, T& into, Need need) {
    const toml::node* node = root_.get(name);
    if (node == nullptr) {
      if (need == Need::always) {
        refuse(0, std::string("the table [") + name + "] is missing");
      }
      return false;
    }
    const toml::table* table = node->as_table();
    if (table == nullptr) {
      refuse(node->source().begin.line, std::string(name) + " must be a table, [" + name + "]");
    }
    read_keys<T>(*table, name, keys, into);
    return true;
  }

  template <class T>
  void read_keys(const toml::table& table, const std::string& name, std::span<const Key<T>> keys,
                 T& into) {
    refuse_unknown<T>(table, name, keys);
    for (const Key<T>& key : keys) {
      const toml::node* node = table.get(key.name);
      if (node != nullptr) {
        const std::string where = path(name, key.name);
        std::visit([&](auto member) { assign(*node, where, key.least, key.most, into.*member); },
                   key.member);
      } else if (key.need == Need::always) {
        refuse(name.empty() ? 0 : table.source().begin.line, path(name, key.name) + " is missing");
      }
    }
  }

  template <class T>
  void refuse_unknown(const toml::table& table, const std::string& name,
                      std::span<const Key<T>> keys) {
    std::string right;
    for (const Key<T>& key : keys) {
      right += (right.empty() ? "" : ", ") + std::string(key.name);
    }
    for (const auto& [given, node] : table) {
      const auto same = [&](const auto& known) { return given.str() == known; };
      const bool known =
          std::any_of(keys.begin(), keys.end(), [&](const Key<T>& key) { return same(key.name); });
      const bool is_table =
          name.empty() && std::any_of(std::begin(kTables), std::end(kTables), same);
      if (!known && !is_table) {
        const std::string tables =
            name.empty()
                ? "; the tables are core, l1, l2, llc, tlb, dram, medium, ait, persistence, htm"
                : "";
        std::string what = name.empty() ? "" : "[" + name + "]: ";
        what.append("there is no key '").append(given.str()).append("'; the keys are ");
        refuse(node.source().begin.line, what.append(right).append(tables));
      }
    }
  }

  /// Refuses a missing key that another value of the file makes necessary.
  void check_needed(const MachineDescription& m) const {
    const HtmDescription& htm = m.htm;
    const bool count_stores = htm.present && htm.stores == HtmTracking::count;
    const bool count_loads =
        htm.present && htm.loads == HtmTracking::count && !htm.loads_and_stores_share;
    const bool suspends = htm.present && (htm.suspend || htm.suspend_load_tracking);
    const struct {
      bool needed;
      const char* table;
      const char* key;
      const char* because;
    } rules[] = {
        {m.sockets > 1, "", "transfer_remote_ns", "there are several sockets"},
        {m.smt > 1, "core", "smt_speed", "a core runs several threads (smt)"},
        {m.dram.row_bytes > 0, "dram", "row_hit_ns", "row_bytes is given"},
        {m.medium.row_bytes > 0, "medium", "row_hit_ns", "row_bytes is given"},
        {count_stores, "htm", "store_lines", "stores are tracked by count"},
        {count_loads, "htm", "load_lines", "loads are tracked by count"},
        {suspends, "htm", "suspend_resume_ns", "transactions can be suspended"},
        {suspends, "htm", "suspend_resume_full_ns", "transactions can be suspended"},
    };
    for (const auto& rule : rules) {
      const toml::table* table = *rule.table == 0 ? &root_ : root_[rule.table].as_table();
      if (rule.needed && table->get(rule.key) == nullptr) {
        refuse(*rule.table == 0 ? 0 : table->source().begin.line,
               path(rule.table, rule.key) + " is missing; it is needed because " + rule.because);
      }
    }
  }

  void check_range(const toml::node& node, const std::string& where, double value, double least,
                   double most) const {
    // Negated, so that not-a-number is refused too.
    if (!(value >= least && value <= most)) {
      refuse(node.source().begin.line, where + ": " + brief(value) + " is not between " +
                                           brief(least) + " and " + brief(most));
    }
  }

  template <class Whole>
    requires std::is_integral_v<Whole>
  void assign(const toml::node& node, const std::string& where, double least, double most,
              Whole& into) const {
    const toml::value<int64_t>* value = node.as_integer();
    if (value == nullptr) {
      refuse(node.source().begin.line, where + " must be a whole number");
    }
    check_range(node, where, static_cast<double>(value->get()), least, most);
    into = static_cast<Whole>(value->get());
  }

  template <class T>
  T content(const toml::node& node, const std::string& where, bool fits, const char* what) const {
    const std::optional<T> value = node.value<T>();
    if (!fits || !value) {
      refuse(node.source().begin.line, where + what);
    }
    return *value;
  }

  void assign(const toml::node& node, const std::string& where, double least, double most,
              double& into) const {
    const double value = content<double>(node, where, node.is_number(), " must be a number");
    check_range(node, where, value, least, most);
    into = value;
  }

  void assign(const toml::node& node, const std::string& where, double, double, bool& into) const {
    into = content<bool>(node, where, node.is_boolean(), " must be true or false");
  }

  void assign(const toml::node& node, const std::string& where, double, double,
              std::string& into) const {
    into =
        content<std::string>(node, where, node.is_string(), " must be a text in quotation marks");
  }

  void assign(const toml::node& node, const std::string& where, double, double,
              WriteBackKind& into) const {
    into = one_of<WriteBackKind>(node, where, kWriteBackWords);
  }

  void assign(const toml::node& node, const std::string& where, double, double,
              HtmTracking& into) const {
    into = one_of<HtmTracking>(node, where, kTrackingWords);
  }

  template <class E>
  E one_of(const toml::node& node, const std::string& where,
           std::span<const NamedValue<E>> words) const {
    const std::string given = node.value_or(std::string());
    std::string right;
    for (const NamedValue<E>& word : words) {
      if (node.is_string() && given == word.text) {
        return word.value;
      }
      right += std::string(right.empty() ? "" : ", ") + "\"" + word.text + "\"";
    }
    refuse(node.source().begin.line, where + " must be one of " + right);
  }

  const toml::table& root_;
  const std::string& source_;
};

/// Parses "key = text". A text that is no TOML value becomes a string.
toml::table parse_change(const std::string& key, const std::string& text) {
  try {
    toml::table parsed = toml::parse(key + " = " + text);
    if (parsed.size() == 1 && parsed.contains(key)) {  // false for a text of several lines
      return parsed;
    }
  } catch (const toml::parse_error&) {      // NOLINT(bugprone-empty-catch): no TOML, so a text
  } catch (const std::invalid_argument&) {  // NOLINT(bugprone-empty-catch): as above
  }
  return toml::table{{key, text}};
}

/// Applies changes to a parsed file. A change must name a value at the top or in a table that the
/// file has. So a misspelled table is found here, and a misspelled key by the reader.
void change(toml::table& root, const std::string& source, const MachineChanges& changes) {
  for (const auto& [name, text] : changes) {
    const size_t dot = name.find('.');
    toml::table* table = &root;
    if (dot != std::string::npos) {
      table = root[name.substr(0, dot)].as_table();
    }
    const std::string key = dot == std::string::npos ? name : name.substr(dot + 1);
    const bool plain = !key.empty() && key.find_first_not_of(kKeyLetters) == std::string::npos;
    if (table == nullptr || !plain || (table->contains(key) && table->get(key)->is_table())) {
      std::string what = source;
      what.append(": there is no value '").append(name);
      what.append("' to set; write table.key, such as persistence.write_back_ns, with ");
      what.append("a table and key the description has");
      throw Error(Status(Code::invalid_argument, what));
    }
    table->insert_or_assign(key, *parse_change(key, text).get(key));
  }
}

}  // namespace
}  // namespace sim

Result<MachineDescription> parse_machine(const std::string& toml, const std::string& source,
                                         const MachineChanges& changes) {
  const std::string no_toml = "not TOML: ";
  try {
    toml::table root = toml::parse(toml, source);
    sim::change(root, source, changes);
    return sim::DescriptionReader(root, source).read();
  } catch (const Error& error) {
    return error.status();
  } catch (const toml::parse_error& error) {
    return Status(Code::invalid_argument, source + ":" + std::to_string(error.source().begin.line) +
                                              ": " + no_toml + std::string(error.description()));
  } catch (const std::invalid_argument& error) {
    return Status(Code::invalid_argument, source + ": " + no_toml + error.what());
  }
}

Result<MachineDescription> load_machine(const std::string& path, const MachineChanges& changes) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return Status(Code::invalid_argument, path + " is a directory, not a machine description");
  }
  errno = 0;
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) {
    text << file.rdbuf();
  }
  if (!file || text.bad()) {
    const Code code = errno == ENOENT   ? Code::not_found
                      : errno == EACCES ? Code::permission_denied
                                        : Code::io_error;
    return Status(code, path + ": the machine description cannot be read: " +
                            std::generic_category().message(errno));
  }
  return parse_machine(text.str(), path, changes);
}

}  // namespace holdfast
