// SPDX-License-Identifier: Apache-2.0
//
// Planted bugs: the simulated machine changes the operations at a labelled site of an engine, to
// test whether the judges of holdfast/check notice. An operation with an empty label is never
// changed.
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

/// The change to the operations at a site. A mutated non-temporal store still stores its bytes, but
/// through the caches; its write-back is changed. An operation that a thread holds back when it
/// ends, or when the power fails, never happens.
enum class MutationKind : uint8_t {
  /// The operation does not happen. A check (Machine::skips) is left out. A scan (Machine::scan)
  /// looks at no slot.
  drop,
  /// A write-back happens right after its thread's next fence of any kind, so that fence does not
  /// cover it. A fence happens right before its thread's next labelled fence, so it no longer
  /// separates the operations between the two. No effect on a check or a scan.
  delay,
  /// The operation happens right after its thread's next labelled operation at another site.
  /// Several operations in a row at one site move as a whole. No effect on a check or a scan.
  swap,
  /// A scan leaves out its first slot, or its last one, as a wrong bound would. A write-back of
  /// several lines leaves out the first or the last one. No effect on other operations.
  first,
  last,
};
inline constexpr std::array kMutationKinds = {MutationKind::drop, MutationKind::delay,
                                              MutationKind::swap, MutationKind::first,
                                              MutationKind::last};
const char* to_string(MutationKind kind);

/// A change at one site. In text: "undo.log.fence=drop".
struct Mutation {
  std::string site;
  MutationKind kind = MutationKind::drop;
};
Result<Mutation> parse_mutation(const std::string& text);
std::string to_string(const Mutation& mutation);

/// The kind of operation that a site labels.
enum class SiteKind : uint8_t {
  write_back,  ///< pwb, pwb_range, store_nontemporal
  fence,       ///< pfence, psync
  full_fence,  ///< fence, heavy_fence
  check,       ///< skips: a wait, a check, an order
  scan,        ///< scan: a loop over slots
};
const char* to_string(SiteKind kind);

/// A site that the program has reached, and how often.
struct SiteUse {
  std::string name;
  SiteKind kind = SiteKind::check;
  uint64_t count = 0;
};

namespace sim {

/// A persistence operation that the program requests.
struct SiteOperation {
  enum class Kind : uint8_t {
    pwb,
    pwb_range,
    store_nontemporal,
    copy,  ///< the stores of a mutated store_nontemporal; no program requests it
    pfence,
    psync,
    begin_psync,
    fence,
    heavy_fence,
  };
  Kind kind = Kind::pwb;
  const void* p = nullptr;  ///< the address to write back or to store to; unused by fences
  size_t n = 0;             ///< bytes; unused by pwb and fences
  Site site = {};
  const void* from = nullptr;  ///< the source of store_nontemporal and copy

  bool fences() const { return kind >= Kind::pfence; }
  bool labelled() const { return site.name[0] != '\0'; }
};

/// Applies mutations: it stands between the persistence operations that the program requests and
/// those that the machine performs. A mutation moves operations of one thread only among
/// themselves. Not thread safe; the simulated machine calls it from one host thread.
class Mutator {
 public:
  using Perform = FunctionRef<void(const SiteOperation&)>;

  Mutator(std::vector<Mutation> mutations, size_t slots, size_t line_bytes)
      : mutations_(std::move(mutations)), held_(slots), line_bytes_(line_bytes) {}

  /// The thread of this slot requests the operation `asked`. Calls perform() for each operation
  /// that happens now.
  void submit(int slot, const SiteOperation& asked, Perform perform);
  /// Machine::skips.
  bool skips(Site site);
  /// Machine::scan, where `all` is the range without a mutation.
  SlotRange scan(SlotRange all, Site site);
  /// The thread has ended. Drops the operations that it holds back.
  void forget(int slot) { held_[static_cast<size_t>(slot)] = {}; }

  /// The sites that the program has reached so far, by name.
  std::vector<SiteUse> sites() const;
  /// Calls f with each of them, in no order.
  void for_each_site(FunctionRef<void(const char* name, SiteKind kind, uint64_t count)> f) const;
  /// The operations dropped or moved, and the checks left out, so far.
  uint64_t changed() const { return changed_; }

 private:
  struct Known {
    const char* name;
    SiteKind kind;
    std::optional<MutationKind> mutation;
    uint64_t count = 0;
  };
  /// The operations that one thread holds back.
  struct Held {
    std::vector<SiteOperation> write_backs;  ///< delayed to after the next fence
    std::vector<SiteOperation> fences;       ///< delayed to the next labelled fence
    std::vector<SiteOperation> swapped;      ///< until after the next operation at another site
  };

  Known& known(Site site, SiteKind kind);
  std::optional<MutationKind> met(const SiteOperation& op);
  /// Performs a write-back except for its first line (kind first) or its last one (kind last).
  void leave_out_line(Held& held, SiteOperation op, MutationKind kind, Perform perform) const;
  bool has_several_lines(const SiteOperation& op) const;
  static void execute(Held& held, const SiteOperation& op, Perform perform);
  static void execute(Held& held, const std::vector<SiteOperation>& ops, Perform perform);

  std::vector<Mutation> mutations_;
  std::vector<Known> known_;
  /// By kind: from the address of a label, which is a literal, to its index in known_.
  std::array<std::unordered_map<const char*, size_t>, 5> index_;
  std::vector<Held> held_;  ///< by slot
  size_t line_bytes_;
  uint64_t changed_ = 0;
};

}  // namespace sim
}  // namespace holdfast
