// SPDX-License-Identifier: Apache-2.0
//
// Runs small probes on every described machine and prints a Markdown table. A row has the simulated
// value, and a source's value for the real or modelled computer. tools/update_validation.py puts
// the table into docs/inside/sim-validation.md.
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/runner/spec/machines.h"

namespace {

using holdfast::Domain;
using holdfast::MachineDescription;
using holdfast::SimMachine;
using Word = SimMachine::Atomic<uint64_t>;

constexpr double kPicoseconds = 1e-3;  // one picosecond in nanoseconds

struct Probe {
  const char* name;
  double (*measure)(const MachineDescription&);
};

holdfast::SimOptions options(const MachineDescription& machine, int threads) {
  holdfast::SimOptions o;
  o.threads = threads;
  o.machine = std::make_shared<MachineDescription>(machine);
  o.schedule = holdfast::Schedule::timed;
  o.domain = machine.persistence.eadr ? Domain::eadr : Domain::pmem;
  return o;
}

/// Returns the nanoseconds per step of work(), which has `steps` steps, on one simulated thread.
double time_steps(SimMachine& m, uint64_t steps, const std::function<void()>& work) {
  uint64_t spent = 0;
  m.run_threads(1, [&](int) {
    const uint64_t start = m.now();
    work();
    spent = m.now() - start;
  });
  return static_cast<double>(spent) * kPicoseconds / static_cast<double>(steps);
}

std::byte* medium(SimMachine& m, size_t bytes) {
  m.medium().grow(bytes).check();
  return m.medium().map(0, bytes, nullptr, holdfast::MapMode::shared).value();
}

/// Follows a chain of dependent loads over all lines of the memory, in random order. Measures the
/// second pass.
double chase(SimMachine& m, std::byte* memory, size_t bytes) {
  const size_t line = m.line_bytes();
  std::vector<uint32_t> order(bytes / line);
  std::iota(order.begin(), order.end(), 0);
  holdfast::Random random(1);
  for (size_t i = order.size() - 1; i > 0; --i) {
    std::swap(order[i], order[random.below(i + 1)]);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    std::byte* next = memory + order[(i + 1) % order.size()] * line;
    SimMachine::store(reinterpret_cast<uint64_t*>(memory + order[i] * line),
                      reinterpret_cast<uint64_t>(next));
  }
  const size_t steps = std::min<size_t>(order.size(), 200'000);
  const auto walk = [&](size_t n) {
    const auto* at = reinterpret_cast<const uint64_t*>(memory + order[0] * line);
    for (size_t i = 0; i < n; ++i) {
      at = reinterpret_cast<const uint64_t*>(SimMachine::load(at));
    }
  };
  time_steps(m, order.size(), [&] { walk(order.size()); });
  return time_steps(m, steps, [&] { walk(steps); });
}

double chase_volatile(const MachineDescription& machine, size_t bytes) {
  SimMachine m(options(machine, 1));
  return chase(m, static_cast<std::byte*>(m.allocate(bytes, 4096)), bytes);
}

size_t past_caches(const MachineDescription& machine) {
  return 4 * std::max({machine.l1.bytes, machine.l2.bytes, machine.llc.bytes});
}

double chase_l1(const MachineDescription& machine) {
  return chase_volatile(machine, machine.l1.bytes / 2);
}
double chase_l2(const MachineDescription& machine) {
  return machine.l2.bytes == 0 ? -1 : chase_volatile(machine, machine.l2.bytes / 2);
}
double chase_llc(const MachineDescription& machine) {
  return machine.llc.bytes == 0
             ? -1
             : chase_volatile(machine, std::max(machine.llc.bytes / 2, 2 * machine.l2.bytes));
}
double chase_dram(const MachineDescription& machine) {
  return chase_volatile(machine, past_caches(machine));
}
double chase_medium(const MachineDescription& machine) {
  SimMachine m(options(machine, 1));
  const size_t bytes = past_caches(machine);
  return chase(m, medium(m, bytes), bytes);
}

double scan(const MachineDescription& machine) {
  SimMachine m(options(machine, 1));
  const size_t bytes = past_caches(machine);
  const auto* words = static_cast<const uint64_t*>(m.allocate(bytes, 4096));
  const double per_line = time_steps(m, bytes / m.line_bytes(), [&] {
    for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) {
      static_cast<void>(SimMachine::load(words + i));
    }
  });
  return static_cast<double>(m.line_bytes()) / per_line;  // bytes per ns: GB/s
}

double random_stores(const MachineDescription& machine) {
  SimMachine m(options(machine, 1));
  const size_t bytes = past_caches(machine);
  auto* memory = static_cast<std::byte*>(m.allocate(bytes, 4096));
  constexpr uint64_t kSteps = 100'000;
  holdfast::Random random(1);
  return time_steps(m, kSteps, [&] {
    for (uint64_t i = 0; i < kSteps; ++i) {
      const size_t line = random.below(bytes / m.line_bytes());
      SimMachine::store(reinterpret_cast<uint64_t*>(memory + line * m.line_bytes()), i);
    }
  });
}

/// Two threads on two cores of one socket change a word alternately.
double hand_over(const MachineDescription& machine) {
  if (machine.cores * machine.sockets < 4) {
    return -1;
  }
  SimMachine m(options(machine, 3));
  auto* word = holdfast::make_array<Word>(m, 1);
  constexpr uint64_t kTurns = 1000;
  uint64_t start = 0;
  uint64_t end = 0;
  m.run_threads(3, [&](int i) {
    if (i == 1) {
      return;  // its core may share an L2 with core 0
    }
    const uint64_t mine = i == 0 ? 0 : 1;
    start = i == 0 ? m.now() : start;
    for (uint64_t turn = mine; turn < kTurns; turn += 2) {
      for (uint64_t seen = word->load(); seen != turn; seen = m.wait_while(*word, seen)) {
      }
      word->store(turn + 1, std::memory_order_release);
    }
    end = std::max(end, m.now());
  });
  return static_cast<double>(end - start) * kPicoseconds / kTurns;
}

double flush_and_fence(const MachineDescription& machine) {
  if (machine.persistence.eadr) {
    return -1;
  }
  SimMachine m(options(machine, 1));
  auto* word = reinterpret_cast<uint64_t*>(medium(m, 4096));
  constexpr uint64_t kSteps = 1000;
  return time_steps(m, kSteps, [&] {
    for (uint64_t i = 0; i < kSteps; ++i) {
      SimMachine::store(word, i);
      m.pwb(word);
      m.pfence();
    }
  });
}

double transactions(const MachineDescription& machine, bool suspended) {
  if (!machine.htm.present || (suspended && !machine.htm.suspend)) {
    return -1;
  }
  SimMachine m(options(machine, 1));
  constexpr uint64_t kSteps = 1000;
  return time_steps(m, kSteps, [&] {
    auto& htm = m.htm(m.self());
    for (uint64_t i = 0; i < kSteps; ++i) {
      htm.begin(holdfast::Tracking::all);
      if (suspended) {
        htm.suspend();
        htm.resume();
      }
      htm.commit();
    }
  });
}
double begin_commit(const MachineDescription& machine) {
  return transactions(machine, false);
}
double suspend_resume(const MachineDescription& machine) {
  const double with = transactions(machine, true);
  return with < 0 ? -1 : with - transactions(machine, false);
}

constexpr Probe kProbes[] = {
    {"dependent loads in L1, ns", &chase_l1},
    {"in L2, ns", &chase_l2},
    {"in the last level, ns", &chase_llc},
    {"in DRAM, ns", &chase_dram},
    {"in the medium, ns", &chase_medium},
    {"sequential scan of DRAM, GB/s", &scan},
    {"random stores to DRAM, ns", &random_stores},
    {"hand-over of a word, ns", &hand_over},
    {"store, write-back, fence, ns", &flush_and_fence},
    {"HTM begin and commit, ns", &begin_commit},
    {"suspend and resume, ns", &suspend_resume},
};

/// Values from sources other than the description's own numbers, or that follow from several of
/// them.
struct Reference {
  const char* machine;
  const char* probe;
  const char* value;
};
constexpr Reference kReferences[] = {
    {"power9", "in DRAM, ns", "90-110 (POWER8: 89-91, lmbench)"},
    {"power9", "hand-over of a word, ns",
     "two transfers (load, then store) of 50-100 (nviennot/core-to-core-latency)"},
    {"power9", "store, write-back, fence, ns", "310 and more (FUR 4.1)"},
    {"power9", "suspend and resume, ns", "350 (FUR 4.1)"},
    {"haswell-e5-2699v3", "hand-over of a word, ns",
     "two transfers of 44 (Broadwell's ring; the same measurements)"},
    {"haswell-e5-2699v3", "HTM begin and commit, ns", "17-26 (40-60 cycles)"},
    {"broadwell-e5-2683v4", "in DRAM, ns", "91-95 (lmbench, AnandTech 10435)"},
    {"broadwell-e5-2683v4", "in the last level, ns", "23-24 (lmbench: 49-50 cycles)"},
    {"broadwell-e5-2683v4", "hand-over of a word, ns",
     "two transfers (load, then store) of 44 (nviennot/core-to-core-latency)"},
    {"skylake-c5", "in the last level, ns", "25-27 (lmbench, AnandTech 11544)"},
    {"skylake-c5", "in DRAM, ns", "89-91 (lmbench, AnandTech 11544)"},
    {"gem5-hercules", "dependent loads in L1, ns", "0.67 (2 cycles at 3 GHz)"},
    {"gem5-hercules", "in the medium, ns", "about 188 past the last level (150 + gem5's path)"},
    {"champsim-ehou", "dependent loads in L1, ns", "1 (2 cycles at 2 GHz)"},
    {"champsim-ehou", "in the medium, ns",
     "48 past the last level, 50 for the mapping (EHOU table I)"},
    {"cxl-pm", "in the medium, ns", "about 200 (NV-CMM white paper)"},
    {"power9-pm", "in the medium, ns", "305 random (Optane, FAST'20)"},
    {"power9-pm", "store, write-back, fence, ns", "60-95 to the write queue (Optane, FAST'20)"},
};

const char* reference(const std::string& machine, const char* probe) {
  for (const Reference& r : kReferences) {
    if (machine == r.machine && std::strcmp(probe, r.probe) == 0) {
      return r.value;
    }
  }
  return "";
}

}  // namespace

int main() {
  std::printf("| machine | probe | simulated | source |\n|---|---|---|---|\n");
  for (const std::string& name : holdfast::machine_names()) {
    const MachineDescription machine = holdfast::find_machine(name).value();
    for (const Probe& probe : kProbes) {
      const double value = probe.measure(machine);
      if (value >= 0) {
        std::printf("| %s | %s | %.*f | %s |\n", name.c_str(), probe.name, value < 10 ? 2 : 0,
                    value, reference(name, probe.name));
      }
    }
    std::fflush(stdout);
  }
  return 0;
}
