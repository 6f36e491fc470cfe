// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/memory/design_host.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "holdfast/machine/sim/design/design_image.h"
#include "holdfast/machine/sim/memory/timed_memory.h"

namespace holdfast::sim {
namespace {

/// The number of the design's first own line, far from the lines of the arena. So no write of an
/// own line merges with one of the arena.
constexpr uint64_t kOwnLines = uint64_t{1} << 40;
constexpr uint64_t kOwnDramLines = 2 * kOwnLines;  // where the machine has one memory for both

[[noreturn]] void misuse(const char* what) {
  throw Error(Status(Code::misuse, what));
}

}  // namespace

DesignHost::DesignHost(HardwareDesign& design, const SimOptions& options, TimedMemory& timing,
                       const SimMedium& medium, Persistence& persistence,
                       ThreadRunner::Threads& threads, DesignPower& power)
    : design_(design),
      options_(options),
      wishes_(design.wishes()),
      timing_(timing),
      medium_(medium),
      persistence_(persistence),
      sim_threads_(threads),
      power_(power),
      threads_(threads.size()),
      open_on_core_(static_cast<size_t>(timing.caches().cores()), 0) {
  for (size_t slot = 0; slot < threads_.size(); ++slot) {
    threads_[slot].tx.slot = static_cast<int>(slot);
  }
  due_instructions_ = wishes_.tick_instructions != 0 ? wishes_.tick_instructions : ~uint64_t{0};
  timing_.caches().attach_design(wishes_.victims);
  design_.attach(*this);
}

uint32_t DesignHost::line_of(uintptr_t address) const {
  return static_cast<uint32_t>((address - kArenaBase) / options_.line_bytes);
}

std::optional<DesignLine> DesignHost::on_medium(uint32_t line) const {
  uint64_t offset;
  if (!medium_.find(kArenaBase + uintptr_t{line} * options_.line_bytes, offset)) {
    return std::nullopt;
  }
  return DesignLine{line, offset};
}

DesignLine DesignHost::medium_line(uint32_t line) const {
  const std::optional<DesignLine> at = on_medium(line);
  if (!at) {
    misuse("the hardware design was asked for a line that does not lie on the medium");
  }
  return *at;
}

// ---- transactions

void DesignHost::issue_begin(const SimThread& thread) {
  PerThread& t = of(thread);
  if (t.issued) {
    misuse("tx_start inside a transaction of the hardware design; transactions do not nest");
  }
  t.issued = true;
}

void DesignHost::issue_end(const SimThread& thread) {
  PerThread& t = of(thread);
  if (!t.issued) {
    misuse("tx_commit or tx_abort without tx_start");
  }
  t.issued = false;
}

Time DesignHost::admit_marker(const SimThread& thread, EntryKind kind, Time now) {
  PerThread& t = of(thread);
  if (kind == EntryKind::tx_begin) {
    pump(now);
    t.tx.id = ++last_id_;
    t.tx.core = timing_.core(thread.slot);
    t.open = true;
    ++open_on_core_[static_cast<size_t>(t.tx.core)];
    design_.begin(t.tx, now);
  } else if (kind == EntryKind::tx_commit) {
    pump(now);
    const Time ready = design_.commit(t.tx, now);
    if (waited(t, ready, now, counters_.commit_waits) > now) {
      return ready;
    }
    ++counters_.transactions;
    close(t);
  }
  return now;
}

Time DesignHost::abort(const SimThread& thread, Time now) {
  PerThread& t = of(thread);
  pump(now);
  const Time done = design_.abort(t.tx, now);
  ++counters_.aborts;
  close(t);
  return done;
}

void DesignHost::close(PerThread& t) {
  for (const Before& before : t.before) {
    timing_.caches().clear_bits(t.tx.core, before.at.line, LineBits::kDesign);
  }
  t.before.clear();
  t.known.clear();
  t.open = false;
  --open_on_core_[static_cast<size_t>(t.tx.core)];
}

/// Adds the time that an entry has waited to `counter`. Returns `ready`.
Time DesignHost::waited(PerThread& t, Time ready, Time now, Time& counter) {
  if (ready > now) {
    t.asked_since = t.asked_since == 0 ? now : t.asked_since;
  } else if (t.asked_since != 0) {
    counter += now - t.asked_since;
    t.asked_since = 0;
  }
  return ready;
}

// ---- stores

Time DesignHost::admit_store(const SimThread& thread, const MaskedWord& word, Time now) {
  PerThread& t = of(thread);
  const uint32_t line = line_of(word.address);
  const int core = timing_.core(thread.slot);
  CacheArray::Way* way = timing_.caches().in_l1(core, line);
  // The bit means that a transaction of the core has stored to the line. If the core has two, it
  // does not tell which.
  const bool known = way != nullptr && (way->meta & LineBits::kDesign) != 0 &&
                     open_on_core_[static_cast<size_t>(core)] == 1;
  if (t.open && known && !wishes_.every_store) {
    return now;
  }
  if (!t.open && (way == nullptr || (way->meta & LineBits::kFlags) == 0)) {
    return now;
  }
  const std::optional<DesignLine> at = on_medium(line);
  if (!at) {
    return now;
  }
  if (!t.open) {
    set_flags(line, design_.outside_store(*at, flags(line)));
    return now;
  }
  pump(now);
  // The tick may have moved the line in the cache, so look it up again.
  return transactional_store(t, timing_.caches().in_l1(core, line), *at, word, now);
}

Time DesignHost::transactional_store(PerThread& t, CacheArray::Way* way, DesignLine at,
                                     const MaskedWord& word, Time now) {
  const bool first = !t.known.contains(at.line);
  const size_t in_line = (word.address - kArenaBase) % options_.line_bytes;
  const DesignStore store{t.tx, at, in_line, word.value, word.mask, newest(at.line)};
  Time ready = now;
  if (first) {
    ready = design_.first_store(store, now);
  } else if (wishes_.every_store) {
    ready = design_.store(store, now);
  }
  if (waited(t, ready, now, counters_.store_waits) > now) {
    return ready;
  }
  counters_.first_stores += first ? 1 : 0;
  counters_.stores += !first && wishes_.every_store ? 1 : 0;
  if (first) {
    remember(t, at);
  }
  if (way != nullptr) {
    way->meta |= LineBits::kDesign;
  }
  return now;
}

void DesignHost::remember(PerThread& t, DesignLine at) {
  t.known.emplace(at.line, t.before.size());
  const std::byte* bytes = newest(at.line);
  t.before.push_back({at, {bytes, bytes + options_.line_bytes}});
}

void DesignHost::for_each_before(const DesignTransaction& tx,
                                 FunctionRef<void(DesignLine, const std::byte*)> f) const {
  for (const Before& before : threads_[static_cast<size_t>(tx.slot)].before) {
    f(before.at, before.bytes.data());
  }
}

// ---- caches and memory

Time DesignHost::fill(uint32_t line, int core, Time now) {
  pump(now);
  const DesignLine at = medium_line(line);
  const DesignFill fill = design_.fill(at, core, now);
  if (fill.supplied) {
    ++counters_.fills;
    check_fill(at, fill.bytes);
    return fill.done;
  }
  std::array<std::byte, 128> bytes;
  medium_bytes(at.offset, bytes.data());
  check_fill(at, bytes.data());
  ++timing_.actor().stats.medium_reads;
  return timing_.medium_controller().read(line, fill.start);
}

/// Throws Error(corrupt) if the bytes of a fill are not the newest ones. No cache holds the line,
/// so the design or the medium must have these.
void DesignHost::check_fill(DesignLine at, const std::byte* bytes) const {
  if (!power_.power_is_gone() && std::memcmp(bytes, newest(at.line), options_.line_bytes) != 0) {
    throw Error(Status(Code::corrupt, "the hardware design lost stores to the line at byte " +
                                          std::to_string(at.offset) +
                                          " of the medium: neither a cache, nor the design, nor "
                                          "the medium has their values"));
  }
}

Time DesignHost::write_memory(uint32_t line, Time now) {
  pump(now);
  const DesignLine at = medium_line(line);
  if (!design_.memory_write(at, now)) {
    ++counters_.dropped;
    return now;
  }
  ++counters_.written_back;
  ++timing_.actor().stats.medium_writes;
  evicting_ = at;
  persist(at.offset, newest(line));
  evicting_.reset();
  return timing_.medium_controller().write(line, now);
}

void DesignHost::write_content(uint32_t line) {
  if (const std::optional<DesignLine> at = on_medium(line); at && design_.memory_write(*at, 0)) {
    persist(at->offset, newest(line));
  }
}

uint32_t DesignHost::leaving(Level from, uint32_t line, uint32_t meta, Time now) {
  const std::optional<DesignLine> at = on_medium(line);
  if (!at) {
    return meta & ~LineBits::kFlags;
  }
  bool dirty = (meta & LineBits::kDirty) != 0;
  auto flags = static_cast<uint8_t>(meta >> LineBits::kFlagShift);
  const bool was_dirty = dirty;
  design_.leaving(from, *at, dirty, flags, now);
  counters_.dropped += was_dirty && !dirty ? 1 : 0;
  return (meta & ~(LineBits::kDirty | LineBits::kFlags)) | (dirty ? LineBits::kDirty : 0) |
         uint32_t{flags} << LineBits::kFlagShift;
}

// ---- background

void DesignHost::pump(Time now) {
  if (ticking_) {
    return;
  }
  ticking_ = true;
  while (due_ <= now) {
    const Time at = std::exchange(due_, ~Time{0});
    design_.tick(at);
  }
  if (due_instructions_ != ~uint64_t{0} && instructions() >= due_instructions_) {
    due_instructions_ += wishes_.tick_instructions;
    design_.tick(now);
  }
  ticking_ = false;
}

/// Pages of the medium are about to be unmapped. The design and the caches write their content to
/// the medium.
void DesignHost::settle() {
  if (power_.power_is_gone()) {
    return;
  }
  Time now = current_thread->clock;
  pump(now);
  now = std::max(now, design_.settle(now));
  std::vector<uint32_t> lines;
  for_each_cached([&](const CachedLine& cached) { lines.push_back(cached.at.line); });
  for (const uint32_t line : lines) {
    timing_.caches().write_back(line, true, now);
  }
}

void DesignHost::forget_threads() {
  for (PerThread& t : threads_) {
    if (t.open) {
      close(t);
    }
    t.issued = false;
    t.asked_since = 0;
  }
}

// ---- power

SurvivingState DesignHost::surviving() const {
  SurvivingState all;
  design_.power_failure(all);
  return all;
}

Image DesignHost::with_design(Image image) const {
  return add_surviving(std::move(image), options_.design, surviving_ ? *surviving_ : surviving());
}

// ---- the design's requests (DesignContext)

int DesignHost::cores() const {
  return timing_.caches().cores();
}

Time DesignHost::cycles(double n) const {
  return timing_.ps(n);
}

uint64_t DesignHost::instructions() const {
  uint64_t sum = 0;
  for (const auto& thread : sim_threads_) {
    sum += thread->stats.instructions;
  }
  return sum;
}

const std::byte* DesignHost::newest(uint32_t line) const {
  return reinterpret_cast<const std::byte*>(kArenaBase + uintptr_t{line} * options_.line_bytes);
}

void DesignHost::medium_bytes(uint64_t offset, std::byte* to) const {
  std::memset(to, 0, options_.line_bytes);
  persistence_.copy_certain(offset, options_.line_bytes, to);
}

void DesignHost::persist(uint64_t offset, const std::byte* bytes) {
  if (!power_.power_is_gone()) {
    power_.design_persist_event();
    persistence_.put(offset, bytes, options_.line_bytes);
  }
}

void DesignHost::restore(uint32_t line, const std::byte* bytes) {
  std::memcpy(const_cast<std::byte*>(newest(line)), bytes, options_.line_bytes);
  power_.design_changed(line);
}

Time DesignHost::rewrite(int core, uint32_t line, const std::byte* bytes, Time now) {
  const CoherentCaches::Outcome outcome = timing_.caches().own(core, line, now);
  timing_.caches().in_l1(core, line)->meta |= LineBits::kDirty;
  restore(line, bytes);
  return outcome.done;
}

Time DesignHost::read(uint32_t line, Time now) {
  ++counters_.reads;
  ++timing_.actor().stats.medium_reads;
  return timing_.medium_controller().read(line, now);
}

Time DesignHost::write(uint32_t line, Time now) {
  ++counters_.writes;
  ++timing_.actor().stats.medium_writes;
  return timing_.medium_controller().write(line, now);
}

Time DesignHost::read_own(uint64_t own_line, Time now) {
  ++counters_.reads;
  ++timing_.actor().stats.medium_reads;
  return timing_.medium_controller().read(kOwnLines + own_line, now);
}

Time DesignHost::write_own(uint64_t own_line, Time now) {
  ++counters_.writes;
  ++timing_.actor().stats.medium_writes;
  return timing_.medium_controller().write(kOwnLines + own_line, now);
}

Time DesignHost::read_dram(uint64_t own_line, Time now) {
  ++timing_.actor().stats.dram_reads;
  return timing_.dram().read(kOwnDramLines + own_line, now);
}

Time DesignHost::write_dram(uint64_t own_line, Time now) {
  ++timing_.actor().stats.dram_writes;
  return timing_.dram().write(kOwnDramLines + own_line, now);
}

void DesignHost::set_flags(uint32_t line, uint8_t flags) {
  timing_.caches().set_flags(line, uint32_t{flags} << LineBits::kFlagShift);
}

uint8_t DesignHost::flags(uint32_t line) {
  return static_cast<uint8_t>(timing_.caches().flags_of(line) >> LineBits::kFlagShift);
}

void DesignHost::invalidate(uint32_t line) {
  timing_.caches().invalidate(line);
}

Time DesignHost::write_back(uint32_t line, Time now) {
  return timing_.caches().write_back(line, false, now).done;
}

void DesignHost::for_each_cached(FunctionRef<void(const CachedLine&)> f) {
  if (evicting_) {
    f({Level::llc, *evicting_, true, 0});
  }
  timing_.caches().for_each_marked([&](Level level, uint32_t line, uint32_t meta) {
    if (const std::optional<DesignLine> at = on_medium(line)) {
      const bool dirty = (meta & LineBits::kDirty) != 0;
      f({level, *at, dirty, static_cast<uint8_t>(meta >> LineBits::kFlagShift)});
    }
  });
}

}  // namespace holdfast::sim
