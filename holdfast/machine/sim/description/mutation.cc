// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/description/mutation.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

namespace holdfast {
const char* to_string(MutationKind kind) {
  switch (kind) {
    case MutationKind::drop:
      return "drop";
    case MutationKind::delay:
      return "delay";
    case MutationKind::swap:
      return "swap";
    case MutationKind::first:
      return "first";
    case MutationKind::last:
      return "last";
  }
  return "?";
}

const char* to_string(SiteKind kind) {
  switch (kind) {
    case SiteKind::write_back:
      return "write-back";
    case SiteKind::fence:
      return "fence";
    case SiteKind::full_fence:
      return "full fence";
    case SiteKind::check:
      return "check";
    case SiteKind::scan:
      return "scan";
  }
  return "?";
}

std::string to_string(const Mutation& mutation) {
  return mutation.site + '=' + to_string(mutation.kind);
}

Result<Mutation> parse_mutation(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals != std::string::npos && equals != 0) {
    for (const MutationKind kind : kMutationKinds) {
      if (text.compare(equals + 1, std::string::npos, to_string(kind)) == 0) {
        return Mutation{text.substr(0, equals), kind};
      }
    }
  }
  return Status(Code::invalid_argument,
                "a mutation is written SITE=KIND, such as "
                "undo.log.fence=drop, where KIND is drop, delay, swap, first or "
                "last; "
                "'" +
                    text + "' is not");
}

namespace sim {

Mutator::Known& Mutator::known(Site site, SiteKind kind) {
  auto& index = index_[static_cast<size_t>(kind)];
  const auto [found, is_new] = index.try_emplace(site.name, known_.size());
  if (!is_new) {
    return known_[found->second];
  }
  // A label may have several addresses, one per object file.
  const auto same = std::find_if(known_.begin(), known_.end(), [&](const Known& k) {
    return k.kind == kind && std::strcmp(k.name, site.name) == 0;
  });
  if (same != known_.end()) {
    found->second = static_cast<size_t>(same - known_.begin());
    return *same;
  }
  Known fresh{site.name, kind, std::nullopt};
  const auto mutation = std::find_if(mutations_.begin(), mutations_.end(),
                                     [&](const Mutation& m) { return m.site == site.name; });
  if (mutation != mutations_.end()) {
    fresh.mutation = mutation->kind;
  }
  return known_.emplace_back(std::move(fresh));
}

std::optional<MutationKind> Mutator::met(const SiteOperation& op) {
  using Kind = SiteOperation::Kind;
  const bool full = op.kind == Kind::fence || op.kind == Kind::heavy_fence;
  Known& k = known(op.site, full          ? SiteKind::full_fence
                            : op.fences() ? SiteKind::fence
                                          : SiteKind::write_back);
  ++k.count;
  const bool by_line = k.mutation == MutationKind::first || k.mutation == MutationKind::last;
  if (!k.mutation || (by_line && !has_several_lines(op))) {
    return std::nullopt;
  }
  ++changed_;
  return k.mutation;
}

bool Mutator::has_several_lines(const SiteOperation& op) const {
  const auto begin = reinterpret_cast<uintptr_t>(op.p);
  return (op.kind == SiteOperation::Kind::pwb_range ||
          op.kind == SiteOperation::Kind::store_nontemporal) &&
         op.n > 0 && begin / line_bytes_ != (begin + op.n - 1) / line_bytes_;
}

bool Mutator::skips(Site site) {
  if (site.name[0] == '\0') {
    return false;
  }
  Known& k = known(site, SiteKind::check);
  ++k.count;
  const bool skipped = k.mutation == MutationKind::drop;
  changed_ += skipped ? 1 : 0;
  return skipped;
}

SlotRange Mutator::scan(SlotRange all, Site site) {
  if (site.name[0] == '\0' || all.first == all.last) {
    return all;
  }
  Known& k = known(site, SiteKind::scan);
  ++k.count;
  if (!k.mutation || k.mutation == MutationKind::delay || k.mutation == MutationKind::swap) {
    return all;
  }
  ++changed_;
  const bool late = k.mutation == MutationKind::first;
  const bool early = k.mutation == MutationKind::last;
  return {all.first + (late ? 1 : 0), !late && !early ? all.first : all.last - (early ? 1 : 0)};
}

void Mutator::execute(Held& held, const SiteOperation& op, Perform perform) {
  perform(op);
  if (op.fences()) {
    for (const SiteOperation& late : std::exchange(held.write_backs, {})) {
      perform(late);
    }
  }
}

void Mutator::execute(Held& held, const std::vector<SiteOperation>& ops, Perform perform) {
  for (const SiteOperation& op : ops) {
    execute(held, op, perform);
  }
}

void Mutator::leave_out_line(Held& held, SiteOperation op, MutationKind kind,
                             Perform perform) const {
  const auto begin = reinterpret_cast<uintptr_t>(op.p);
  const bool first = kind == MutationKind::first;
  const uintptr_t edge = first ? begin / line_bytes_ + 1
                               : (begin + op.n - 1) / line_bytes_;  // the line behind the cut
  const size_t before = edge * line_bytes_ - begin;
  if (first) {
    op.p = static_cast<const std::byte*>(op.p) + before;
  }
  op.n = first ? op.n - before : before;
  execute(held, op, perform);
}

void Mutator::submit(int slot, const SiteOperation& asked, Perform perform) {
  Held& held = held_[static_cast<size_t>(slot)];
  if (!asked.labelled()) {
    execute(held, asked, perform);
    return;
  }
  const std::optional<MutationKind> mutation = met(asked);
  if (asked.fences()) {
    execute(held, std::exchange(held.fences, {}), perform);
  }
  std::vector<SiteOperation> swapped;
  if (!held.swapped.empty() &&
      std::string_view(held.swapped.front().site.name) != asked.site.name) {
    swapped = std::exchange(held.swapped, {});
  }
  SiteOperation op = asked;
  if (mutation && op.kind == SiteOperation::Kind::store_nontemporal) {
    op.kind = SiteOperation::Kind::copy;
    execute(held, op, perform);
    op.kind = SiteOperation::Kind::pwb_range;
  }
  if (!mutation) {
    execute(held, op, perform);
  } else if (*mutation == MutationKind::delay) {
    (op.fences() ? held.fences : held.write_backs).push_back(op);
  } else if (*mutation == MutationKind::swap) {
    held.swapped.push_back(op);
  } else if (*mutation != MutationKind::drop) {
    leave_out_line(held, op, *mutation, perform);
  }
  execute(held, swapped, perform);
}

void Mutator::for_each_site(FunctionRef<void(const char*, SiteKind, uint64_t)> f) const {
  for (const Known& k : known_) {
    if (k.count > 0) {
      f(k.name, k.kind, k.count);
    }
  }
}

std::vector<SiteUse> Mutator::sites() const {
  std::vector<SiteUse> uses;
  for_each_site([&](const char* name, SiteKind kind, uint64_t count) {
    uses.push_back({name, kind, count});
  });
  std::sort(uses.begin(), uses.end(), [](const SiteUse& a, const SiteUse& b) {
    return std::tie(a.name, a.kind) < std::tie(b.name, b.kind);
  });
  return uses;
}

}  // namespace sim
}  // namespace holdfast
