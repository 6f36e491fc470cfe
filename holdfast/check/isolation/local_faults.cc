// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/isolation/local_faults.h"

#include <optional>
#include <string>

namespace holdfast::check {
namespace {

/// Examines one transaction after the other. For each object it keeps the versions that the present
/// transaction has found and written there.
class Walk {
 public:
  explicit Walk(const VersionTable& versions)
      : versions_(versions), seen_(versions.history().objects) {}

  /// Returns the first fault of the transaction.
  std::optional<Finding> examine(const Transaction& transaction);

 private:
  struct Seen {
    uint32_t by = 0;
    bool looked = false;
    bool wrote = false;
    Version version;  // the latest one that it found or wrote
  };

  std::optional<Finding> look(const Transaction& reader, Object object, Version version);
  std::optional<Finding> look_at_own(const Transaction& reader, Object object, Version version);
  std::optional<Finding> look_at_other(const Transaction& reader, Object object, Version version);

  const VersionTable& versions_;
  std::vector<Seen> seen_;
};

Finding bad_read(const char* name, const Transaction& reader, Object object, Version version,
                 const std::string& why) {
  return {name,
          "T" + std::to_string(reader.number) + " found in x" + std::to_string(object) + " " + why,
          {{version.transaction, reader.number, EdgeKind::write_read, object}}};
}

std::string write_name(Version version) {
  return "write " + std::to_string(version.write) + " of T" + std::to_string(version.transaction);
}

std::optional<Finding> Walk::examine(const Transaction& transaction) {
  for (const Access& access : transaction.accesses) {
    Seen& seen = seen_[access.object];
    if (seen.by != transaction.number) {
      seen = {.by = transaction.number, .version = {}};
    }
    if (access.kind != Access::Kind::blind) {
      const Version version = access.kind == Access::Kind::read ? access.version : access.replaced;
      if (auto fault = look(transaction, access.object, version)) {
        return fault;
      }
      seen.looked = true;
      seen.version = version;
    }
    if (access.writes()) {
      seen.wrote = true;
      seen.version = access.version;
    }
  }
  return std::nullopt;
}

std::optional<Finding> Walk::look(const Transaction& reader, Object object, Version version) {
  const Seen& seen = seen_[object];
  if (versions_.find(version, object) == kGarbage) {
    Finding fault =
        bad_read("garbage read", reader, object, {},
                 "the word " + std::to_string(version.word()) + ", which names no write into it");
    fault.steps = {{reader.number, reader.number, EdgeKind::write_read, object}};
    return fault;
  }
  if (seen.wrote || version.transaction == reader.number) {
    return look_at_own(reader, object, version);
  }
  if (seen.looked && seen.version != version) {
    Finding fault = bad_read("non-repeatable read", reader, object, seen.version,
                             "first one version and then another");
    fault.steps.push_back({version.transaction, reader.number, EdgeKind::write_read, object});
    return fault;
  }
  return version.initial() ? std::nullopt : look_at_other(reader, object, version);
}

std::optional<Finding> Walk::look_at_own(const Transaction& reader, Object object,
                                         Version version) {
  const Seen& seen = seen_[object];
  if (version.transaction == reader.number && (!seen.wrote || version.write > seen.version.write)) {
    return bad_read("future read", reader, object, version,
                    write_name(version) + " before it was made");
  }
  if (version != seen.version) {
    return bad_read("lost own write", reader, object, version,
                    (version.initial() ? "the initial value" : write_name(version)) +
                        " in place of " + write_name(seen.version));
  }
  return std::nullopt;
}

std::optional<Finding> Walk::look_at_other(const Transaction& reader, Object object,
                                           Version version) {
  if (versions_.history().at(version.transaction).outcome == Outcome::aborted) {
    return bad_read("aborted read", reader, object, version,
                    write_name(version) + ", which was rolled back");
  }
  if (!versions_[versions_.find(version, object)].last) {
    return bad_read("intermediate read", reader, object, version,
                    write_name(version) + ", which its own transaction overwrote");
  }
  return std::nullopt;
}

/// Appends a lost update for each version that was replaced more than once.
void add_lost_updates(const VersionTable& versions, size_t most, std::vector<Finding>& findings) {
  std::vector<uint32_t> replacer(versions.size(), 0);
  std::vector<uint32_t> initial_replacer(versions.history().objects, 0);
  for (WriteId id = 0; id < versions.size() && findings.size() < most; ++id) {
    const Write& write = versions[id];
    if (!write.last || !versions.effective(write.transaction) ||
        (!is_write(write.previous) && write.previous != kInitial)) {
      continue;
    }
    uint32_t& other =
        write.previous == kInitial ? initial_replacer[write.object] : replacer[write.previous];
    if (other == 0) {
      other = write.transaction;
      continue;
    }
    const std::string both =
        "T" + std::to_string(other) + " and T" + std::to_string(write.transaction);
    findings.push_back({"lost update",
                        both + " replaced the same version of x" + std::to_string(write.object),
                        {{other, write.transaction, EdgeKind::read_write, write.object},
                         {write.transaction, other, EdgeKind::read_write, write.object}}});
  }
}

}  // namespace

std::vector<Finding> local_faults(const VersionTable& versions, size_t most) {
  std::vector<Finding> findings;
  Walk walk(versions);
  for (const Transaction& transaction : versions.history().transactions) {
    if (findings.size() >= most) {
      return findings;
    }
    if (auto fault = walk.examine(transaction)) {
      findings.push_back(*std::move(fault));
    }
  }
  add_lost_updates(versions, most, findings);
  return findings;
}

}  // namespace holdfast::check
