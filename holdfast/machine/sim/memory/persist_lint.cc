// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/memory/persist_lint.h"

#include <algorithm>

#include "holdfast/machine/sim/medium/sim_medium.h"
#include "holdfast/machine/sim/threads/thread_runner.h"

namespace holdfast {

const char* to_string(LintKind kind) {
  switch (kind) {
    case LintKind::not_written_back:
      return "stored, not written back at the end of the transaction";
    case LintKind::not_fenced:
      return "written back, not fenced at the end of the transaction";
    case LintKind::redundant_write_back:
      return "redundant write-back";
    case LintKind::empty_fence:
      return "fence with nothing to order";
    case LintKind::stray_store:
      return "store outside a transaction";
  }
  return "?";
}

namespace sim {

PersistLint::PersistLint(const SimOptions& options, const SimMedium& medium, size_t slots)
    : medium_(medium),
      line_bytes_(options.line_bytes),
      lines_(options.domain == Domain::pmem && options.design.empty()),
      threads_(slots) {}

PersistLint::PerThread& PersistLint::of(const SimThread& thread) {
  return threads_[static_cast<size_t>(thread.slot)];
}

void PersistLint::stored(const SimThread& thread, uintptr_t address) {
  uint64_t offset;
  if (!medium_.find(address, offset)) {
    return;
  }
  of(thread).something_to_order = true;
  const uint64_t line = offset / line_bytes_;
  line_[line].stored = ++now_;
  const Phase phase = thread.phases.phase();
  const bool replays = thread.slot == kBackgroundSlot || phase == Phase::replay;
  if (thread.phases.transaction() != TransactionKind::none) {
    if (!replays) {
      of(thread).stores[line] = {now_, phase};
    }
  } else if (transaction_seen_ && thread.slot != kMainSlot && !replays) {
    found(LintKind::stray_store, holdfast::to_string(phase), offset);
  }
}

void PersistLint::asked(const SimThread& thread, const SiteOperation& operation) {
  const auto begin = reinterpret_cast<uintptr_t>(operation.p);
  PerThread& own = of(thread);
  switch (operation.kind) {
    case SiteOperation::Kind::pwb:
      write_back(thread, begin, operation.site);
      break;
    case SiteOperation::Kind::pwb_range:
      for (uintptr_t at = begin & ~uintptr_t{line_bytes_ - 1}; at < begin + operation.n;
           at += line_bytes_) {
        write_back(thread, at, operation.site);
      }
      break;
    case SiteOperation::Kind::pfence:
    case SiteOperation::Kind::psync:
    case SiteOperation::Kind::begin_psync:
      if (!own.something_to_order) {
        found(LintKind::empty_fence, operation.site.name, 0);
      }
      own.something_to_order = false;
      break;
    case SiteOperation::Kind::store_nontemporal:
    case SiteOperation::Kind::copy:  // the memory system reports each of their stores
    case SiteOperation::Kind::fence:
    case SiteOperation::Kind::heavy_fence:
      break;
  }
}

void PersistLint::write_back(const SimThread& thread, uintptr_t address, Site site) {
  uint64_t offset;
  if (!in_arena(reinterpret_cast<const void*>(address)) || !medium_.find(address, offset)) {
    return;
  }
  of(thread).something_to_order = true;
  if (!lines_) {
    return;
  }
  Line& line = line_[offset / line_bytes_];
  if (line.written_back >= line.stored) {
    found(LintKind::redundant_write_back, site.name, offset);
  }
  line.written_back = ++now_;
  line.site = site.name;
  of(thread).pending.emplace_back(offset / line_bytes_, now_);
}

void PersistLint::completed(const SimThread& thread) {
  auto& pending = of(thread).pending;
  for (const auto& [line, moment] : pending) {
    uint64_t& durable = line_[line].durable;
    durable = std::max(durable, moment);
  }
  pending.clear();
}

void PersistLint::transaction(const SimThread& thread, TransactionKind kind, bool failed) {
  PerThread& own = of(thread);
  if (kind == TransactionKind::none && lines_ && !failed) {
    for (const auto& [number, store] : own.stores) {
      const Line& line = line_[number];
      if (line.written_back < store.moment) {
        found(LintKind::not_written_back, holdfast::to_string(store.phase), number * line_bytes_);
      } else if (line.durable < store.moment) {
        found(LintKind::not_fenced, line.site, number * line_bytes_);
      }
    }
  }
  transaction_seen_ = true;
  own.stores.clear();
}

void PersistLint::found(LintKind kind, const char* where, uint64_t example) {
  const std::string name = where[0] == '\0' ? "(no label)" : where;
  LintRow& row = rows_.try_emplace({kind, name}, LintRow{kind, name, 0, example}).first->second;
  ++row.count;
}

std::vector<LintRow> PersistLint::report() const {
  std::vector<LintRow> all;
  all.reserve(rows_.size());
  for (const auto& [key, row] : rows_) {
    all.push_back(row);
  }
  std::stable_sort(all.begin(), all.end(), [](const LintRow& a, const LintRow& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.count > b.count;
  });
  return all;
}

}  // namespace sim
}  // namespace holdfast
