// SPDX-License-Identifier: Apache-2.0
//
// Is damage on the medium found? Bytes are damaged at random, in superblocks, engine area and
// allocator metadata, on images taken while transactions run. Opening must either fail and leave
// the image unchanged, or give the content of the undamaged image. check() must find damage that
// only a walk can find.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/engine_options.h"
#include "tests/same_image.h"
#include "tests/sanitized.h"
#include "tests/superblock_of.h"

namespace holdfast::damage_test {
namespace {

using H = Heap<AnyEngine<SimMachine>>;

struct Ledger {
  static constexpr const char* kTypeName = "fuzz.ledger";
  struct Entry {
    H::Field<Entry*> next{nullptr};
    H::Field<uint64_t> value{0};
    H::Field<std::array<char, 40>> text{std::array<char, 40>{}};
  };
  H::Field<Entry*> entries{nullptr};
  H::Field<uint64_t> count{0};
};

struct Content {
  std::vector<uint64_t> values;
  uint64_t count = 0;
  bool operator==(const Content&) const = default;
};

Content content(H& heap) {
  auto* ledger = heap.find_root<Ledger>("ledger").value();
  Content c;
  heap.read([&] {
        c = Content();
        c.count = ledger->count;
        size_t guard = 0;
        for (Ledger::Entry* e = ledger->entries; e != nullptr && guard < 10000;
             e = e->next, ++guard) {
          c.values.push_back(e->value);
        }
      })
      .check();
  return c;
}

const Description& about(const std::string& engine) {
  return *AnyEngine<SimMachine>::describe(engine).value();
}

SimOptions machine_options(const std::string& engine, uint64_t seed) {
  SimOptions o;
  o.domain = usual_domain(about(engine));
  o.threads = 2;
  o.seed = seed;
  return o;
}

/// Returns the image of a heap after a power failure at a random event of a small run.
SimImage crashed_image(const std::string& engine, uint64_t seed) {
  Random random(seed);
  uint64_t events = 0;
  for (int pass = 0; pass < 2; ++pass) {
    SimMachine machine(machine_options(engine, seed));
    CreateOptions options;
    options.engine = engine;
    options.bytes = 256 << 10;
    options.max_bytes = 1 << 20;
    // Images are as large as logs.
    options.options = known_options(about(engine), {{"log_bytes", "65536"}});
    auto heap = H::create(machine, options).value();
    auto* ledger = heap->root<Ledger>("ledger").value();
    const uint64_t before = machine.persist_events();
    if (pass == 1) {
      machine.crash_at(before + random.below(events));
    }
    machine.run_threads(2, [&](int thread) {
      for (int i = 0; i < 12; ++i) {
        heap->update([&] {
              if (i % 4 == 3 && ledger->entries.load() != nullptr) {
                Ledger::Entry* gone = ledger->entries;
                ledger->entries = gone->next.load();
                heap->destroy(gone);
              } else {
                auto* entry = heap->make<Ledger::Entry>();
                entry->value = static_cast<uint64_t>(thread * 1000 + i);
                entry->next = ledger->entries.load();
                ledger->entries = entry;
              }
              ledger->count += 1;
            })
            .check();
      }
    });
    events = machine.persist_events() - before;
    if (pass == 1) {
      Random sampler(seed + 1);
      return machine.sample_image(sampler);
    }
  }
  return {};
}

struct Opened {
  Status status;
  Content content;
  bool sound = false;
  SimImage after;
};

Opened open_image(const std::string& engine, const SimImage& image) {
  Opened result;
  SimMachine machine(machine_options(engine, 3), image);
  auto heap = H::open(machine);
  result.status = heap.status();
  if (heap) {
    try {
      result.content = content(**heap);
      auto* ledger = (*heap)->find_root<Ledger>("ledger").value();
      auto check = (*heap)->check([&](const BlockVisitor& visit) {
        size_t guard = 0;
        for (Ledger::Entry* e = ledger->entries; e != nullptr && guard < 10000;
             e = e->next, ++guard) {
          visit(e, sizeof(Ledger::Entry));
        }
      });
      result.sound = check.ok() && check.value().ok();
    } catch (const Error&) {
      result.sound = false;
    }
  } else {
    result.after = machine.latest_image();
  }
  return result;
}

class Damage : public testing::TestWithParam<std::string> {};

TEST_P(Damage, IsReportedOrHarmless) {
  const std::string engine = GetParam();
  int refused = 0;
  int found_by_check = 0;
  int harmless = 0;
  for (uint64_t seed = 1; seed <= (kSanitized ? 1 : 4); ++seed) {
    const SimImage image = crashed_image(engine, seed);
    const Opened good = open_image(engine, image);
    ASSERT_TRUE(good.status.ok()) << engine << " seed " << seed << ": " << good.status.to_string();
    ASSERT_TRUE(good.sound) << engine << " seed " << seed;
    const Superblock superblock = superblock_of(image);
    Random random(seed * 1000);
    for (int i = 0; i < 120; ++i) {
      // One third each: superblocks, the used front of the engine area, roots and allocator
      // metadata.
      const uint64_t begins[] = {0, superblock.file_offset(ExtentKind::area),
                                 superblock.file_offset(ExtentKind::data)};
      const uint64_t lengths[] = {512, 1024,
                                  DataHeader<AnyEngine<SimMachine>>::bytes(superblock.slots)};
      const size_t region = random.below(3);
      const uint64_t copy = region == 0 ? random.below(kSuperblocks) * kSuperblockBytes : 0;
      const uint64_t at = copy + begins[region] + random.below(lengths[region]);
      const auto flip = static_cast<std::byte>(1U << random.below(8));
      SimImage damaged = image;
      damaged[at] ^= flip;
      const Opened opened = open_image(engine, damaged);
      const std::string where = engine + " seed " + std::to_string(seed) + " byte " +
                                std::to_string(at) + " (region " + std::to_string(region) + ")";
      if (!opened.status.ok()) {
        ++refused;
        EXPECT_TRUE(same_image(opened.after, damaged))
            << where << ": refused, but the medium was changed: " << opened.status.to_string();
        EXPECT_FALSE(opened.status.message().empty());
      } else if (!opened.sound) {
        ++found_by_check;
      } else {
        ++harmless;
        EXPECT_EQ(opened.content, good.content) << where << ": damage went unnoticed";
      }
    }
  }
  EXPECT_TRUE(kSanitized || refused > 0);  // twin copies heal most
  std::printf("%s: %d refused, %d found by check, %d harmless\n", engine.c_str(), refused,
              found_by_check, harmless);
}

std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const auto& row : engine_rows<SimMachine>()) {
    if (row.description->needs_design) {
      continue;  // needs a timed machine; see tests/unit/hardware/design_crash_test.cc
    }
    if (row.description->durability == Durability::none) {
      continue;  // refuses the image of a run; see tests/unit/engines/volatile_engines_test.cc
    }
    names.emplace_back(row.description->name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Engines, Damage, testing::ValuesIn(engine_names()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace holdfast::damage_test
