// SPDX-License-Identifier: Apache-2.0
//
// Planted bugs: the simulated machine changes what happens at a labelled place of an engine, so
// that one can see whether the judges of holdfast/check notice. An operation with an empty label is
// never changed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/status.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

/// What becomes of the operations at a site. Of a non-temporal store its bytes arrive all the same,
/// through the caches; what is changed is their write-back. Whatever a thread still holds back when
/// it ends, or the power fails, has not happened.
enum class MutationKind : uint8_t {
  drop,   ///< It does not happen. A check (Machine::skips) is left out.
  delay,  ///< A write-back happens right after its thread's next fence of any kind, which therefore
          ///< does not cover it. A fence happens right before its thread's next labelled fence:
          ///< what it kept apart is together. Means nothing for a check.
  swap,   ///< It happens right after its thread's next labelled operation at another site (a run of
          ///< operations at one site moves as a whole). Means nothing for a check.
};
const char* to_string(MutationKind kind);

/// Written "undo.log.fence=drop".
struct Mutation {
  std::string site;
  MutationKind kind = MutationKind::drop;
};
Result<Mutation> parse_mutation(const std::string& text);
std::string to_string(const Mutation& mutation);

/// What stands at a label.
enum class SiteKind : uint8_t {
  write_back,  ///< pwb, pwb_range, store_nontemporal
  fence,       ///< pfence, psync
  full_fence,  ///< fence, heavy_fence
  check,       ///< skips: a wait, a check, an order
};
const char* to_string(SiteKind kind);

/// A label that was met, and how often.
struct SiteUse {
  std::string name;
  SiteKind kind = SiteKind::check;
  uint64_t count = 0;
};

namespace sim {

/// A persistence operation as the program asks for it.
struct SiteOperation {
  enum class Kind : uint8_t {
    pwb,
    pwb_range,
    store_nontemporal,
    copy,  ///< the program never asks for it: what a mutation leaves of store_nontemporal
    pfence,
    psync,
    fence,
    heavy_fence,
  };
  Kind kind = Kind::pwb;
  const void* p = nullptr;  ///< pwb, pwb_range; where store_nontemporal stores
  size_t n = 0;             ///< all but pwb and fences
  Site site = {};
  const void* from = nullptr;  ///< store_nontemporal

  bool fences() const { return kind >= Kind::pfence; }
  bool labelled() const { return site.name[0] != '\0'; }
};

/// Stands between the program's persistence operations and the machine's. Knows nothing of other
/// threads: a mutation moves operations of one thread among themselves.
class Mutator {
 public:
  using Perform = FunctionRef<void(const SiteOperation&)>;

  Mutator(std::vector<Mutation> mutations, size_t slots)
      : mutations_(std::move(mutations)), held_(slots) {}

  /// The thread of this slot asks for `asked`; what happens now instead goes to perform().
  void submit(int slot, const SiteOperation& asked, Perform perform);
  bool skips(Site site);
  /// The thread is gone, and what was held back with it.
  void forget(int slot) { held_[static_cast<size_t>(slot)] = {}; }

  /// Labels met so far, by name.
  std::vector<SiteUse> sites() const;
  /// Operations dropped or moved, and checks left out, so far.
  uint64_t changed() const { return changed_; }

 private:
  struct Known {
    SiteUse use;
    std::optional<MutationKind> mutation;
  };
  /// Held back by one thread.
  struct Held {
    std::vector<SiteOperation> write_backs;  ///< delayed to after the next fence
    std::vector<SiteOperation> fences;       ///< delayed to the next labelled fence
    std::vector<SiteOperation> swapped;      ///< until after the next operation at another site
  };

  Known& known(Site site, SiteKind kind);
  std::optional<MutationKind> met(const SiteOperation& op);
  static void execute(Held& held, const SiteOperation& op, Perform perform);
  static void execute(Held& held, const std::vector<SiteOperation>& ops, Perform perform);

  std::vector<Mutation> mutations_;
  std::vector<Known> known_;
  /// From the address of a label, which is a literal, to its index in known_; by kind.
  std::array<std::unordered_map<const char*, size_t>, 4> index_;
  std::vector<Held> held_;  ///< by slot
  uint64_t changed_ = 0;
};

}  // namespace sim
}  // namespace holdfast
