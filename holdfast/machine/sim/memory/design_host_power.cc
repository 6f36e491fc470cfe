// SPDX-License-Identifier: Apache-2.0
//
// The part of DesignHost for power failures, recovery, and the end of the use of pages.
#include <algorithm>
#include <cstring>
#include <utility>

#include "holdfast/machine/sim/memory/design_host.h"
#include "holdfast/machine/sim/memory/timed_memory.h"

namespace holdfast::sim {

/// The machine when the power fails. It collects the last writes.
class DesignHost::Failure final : public PowerFailure {
 public:
  Failure(const DesignHost& host, Remains& remains) : host_(host), remains_(remains) {}

  const MachineDescription& machine() const override { return *host_.options_.machine; }
  size_t line_bytes() const override { return host_.options_.line_bytes; }
  bool caches_survive() const override { return host_.caches_survive(); }
  void for_each_cached(FunctionRef<void(const CachedLine&, const std::byte*)> f) const override {
    const bool all = caches_survive();
    if (!all && !host_.wishes_.nonvolatile_llc) {
      return;
    }
    host_.timing_.caches().for_each_marked(
        [&](Level level, uint32_t line, uint32_t meta, const std::byte* older) {
          const std::optional<DesignLine> at = host_.on_medium(line);
          if (at && (all || level == Level::llc)) {
            f({level, *at, (meta & LineBits::kDirty) != 0,
               static_cast<uint8_t>(meta >> LineBits::kFlagShift)},
              older != nullptr ? older : host_.newest(line));
          }
        });
  }
  std::span<const std::byte> entry(size_t structure, size_t entry) const override {
    return host_.structures_.surviving_entry(structure, entry);
  }
  void write(Place to, std::span<const std::byte> bytes) override {
    remains_.writes.push_back({to, {bytes.begin(), bytes.end()}});
  }

 private:
  const DesignHost& host_;
  Remains& remains_;
};

/// The state that would survive a power failure now, beside the content of persistent memory.
DesignHost::Remains DesignHost::remains_now() const {
  Remains remains;
  const size_t n = options_.line_bytes;
  // While the design runs, writes that are due by its time have been accepted. Else those that are
  // due by now count as accepted. Caches that survive still have the lines that have left them and
  // were not accepted.
  for (const WriteOnItsWay& write : writes_.waiting()) {
    const bool accepted = !pumping_ && !accepting_ && write.accepted <= latest_;
    if (accepted || write.in_cache) {
      remains.writes.push_back({write.to, {write.bytes.begin(), write.bytes.begin() + n}});
    }
  }
  Failure failure(*this, remains);
  witness_.power_failure(failure);
  writes_.own().for_each_line(n, [&](uint64_t offset, const std::byte* bytes) {
    remains.design.own.emplace(offset, std::vector<std::byte>(bytes, bytes + n));
  });
  remains.design.structures = structures_.surviving();
  if (wishes_.nonvolatile_llc) {
    remains.design.last_level = loaded_.last_level;  // it gives them up at the end of recovery
    failure.for_each_cached([&](const CachedLine& cached, const std::byte* bytes) {
      if (cached.level == Level::llc) {
        remains.design.last_level.push_back({cached, {bytes, bytes + n}});
      }
    });
  }
  return remains;
}

Image DesignHost::with_design(Image image) const {
  Remains remains = failed_ ? *failed_ : remains_now();
  for (const auto& [to, bytes] : remains.writes) {
    if (to.space == Space::home) {
      if (to.offset + bytes.size() <= image.size()) {
        std::memcpy(image.data() + to.offset, bytes.data(), bytes.size());
      }
      continue;
    }
    const uint64_t line = to.offset / options_.line_bytes * options_.line_bytes;
    std::vector<std::byte>& own = remains.design.own[line];
    own.resize(options_.line_bytes);
    std::memcpy(own.data() + (to.offset - line), bytes.data(), bytes.size());
  }
  return with_remains(std::move(image), options_.design, remains.design, options_.line_bytes);
}

// ---- power-on

void DesignHost::load(DesignRemains remains) {
  for (const auto& [offset, bytes] : remains.own) {
    writes_.put({Space::own, offset}, bytes.data(), bytes.size());
    if (offset < wishes_.cached_own_bytes) {
      std::memcpy(&own_newest_[offset], bytes.data(), bytes.size());
    }
  }
  structures_.restore(std::move(remains.structures));
  loaded_ = std::move(remains);
  needs_power_on_ = true;
}

Time DesignHost::power_on(Time now) {
  recovery_ = {};
  recovery_.needed = true;
  pump(now);
  Time done = std::max(now, design_.recover(recovery_, now));
  done = finish_writes(done);
  recovery_.duration = done - now;
  loaded_ = {};
  needs_power_on_ = false;
  return done;
}

void DesignHost::for_each_remaining(FunctionRef<void(const CachedLine&, const std::byte*)> f) {
  for (const DesignRemains::CacheLine& line : loaded_.last_level) {
    f(line.cached, line.bytes.data());
  }
}

// ---- the end of pages, and of threads

Time DesignHost::settle(Time now, bool caches) {
  if (power_.power_is_gone()) {
    return now;
  }
  return guarded(now, [&] { return settle_all(now, caches); });
}

Time DesignHost::settle_all(Time now, bool caches) {
  pump(now);
  if (wishes_.tlbs && caches) {
    timing_.empty_tlbs(now);
  }
  now = std::max(now, design_.settle(now));
  if (caches) {
    std::vector<uint32_t> lines;
    for_each_cached([&](const CachedLine& cached) { lines.push_back(cached.line.line); });
    for (const uint32_t line : lines) {
      now = std::max(now, timing_.caches().write_back(line, true, now).done);
    }
  }
  return finish_writes(now);
}

/// Waits until the controller has accepted all writes.
Time DesignHost::finish_writes(Time now) {
  while (writes_.next() != DesignWrites::kNever) {
    now = std::max(now, writes_.next());
    pump(now);
  }
  pump(now);
  return now;
}

void DesignHost::forget_threads() {
  for (PerThread& t : threads_) {
    if (t.open) {
      close(t);
    }
    t.issued = false;
    t.asked_since = 0;
  }
  for (const auto& thread : sim_threads_) {
    thread->doomed = AbortCause::none;
  }
}

}  // namespace holdfast::sim
