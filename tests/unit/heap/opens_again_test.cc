// SPDX-License-Identifier: Apache-2.0
//
// Does each heap that was made open again, at the bounds of its options, and after each migration?
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_rows.h"
#include "tests/unit/heap/small_heap.h"

namespace holdfast::opens_again_test {
namespace {

using H = Heap<AnyEngine<SimMachine>>;

std::string any_engine() {
  return first_of(engine_rows<SimMachine>(), [](const auto& row) {
    return is_durable(*row.description) && !row.description->needs_design;
  });
}

SimOptions machine_of(const std::string& engine) {
  return engine_rows_test::machine_for(*EngineFactory<H::Engine>::describe(engine).value(), 1);
}

/// Makes a heap, uses it and closes it, and returns its file; an error if there can be no such one.
template <class F>
Result<SimImage> file_of(const CreateOptions& create, F&& use) {
  SimMachine machine(machine_of(create.engine));
  auto made = H::create(machine, create);
  if (!made) {
    return made.status();
  }
  use(**made);
  made.value()->close().check();
  made.value().reset();  // unmaps its pages, so that caches write their lines back
  return machine.earliest_image();
}

void expect_opens(const std::string& engine, const SimImage& file) {
  SimMachine machine(machine_of(engine), file);
  machine.power_on();
  const Status status = H::open(machine).status();
  EXPECT_TRUE(status.ok()) << status.to_string();
}

/// The status of the creation. A heap that it made must open again.
Status made(const CreateOptions& create) {
  const auto file = file_of(create, [](H&) {});
  if (file.ok()) {
    expect_opens(create.engine, file.value());
  }
  return file.status();
}

// The chunks of the metadata must exist, although no object needs a chunk yet.
TEST(OpensAgain, AHeapThatItsMetadataFill) {
  CreateOptions create = small_heap_options(any_engine());
  create.chunk_bytes = kMaxChunkBytes;
  size_t least = 0;
  for (create.bytes = kPageBytes; create.bytes <= 4 * kMaxChunkBytes; create.bytes += kPageBytes) {
    const Status status = made(create);
    EXPECT_EQ(status.code(), least == 0 && !status.ok() ? Code::invalid_argument : Code::ok);
    least = least == 0 && status.ok() ? create.bytes : least;
  }
  EXPECT_GT(least, kPageBytes);
}

TEST(OpensAgain, AHeapWithTheMostThreadSlots) {
  CreateOptions create = small_heap_options(any_engine());
  create.bytes = create.max_bytes = 4 << 20;
  create.slots = kMostThreadSlots;
  EXPECT_EQ(made(create).code(), Code::ok);
  for (const int slots : {-1, kMostThreadSlots + 1}) {
    create.slots = slots;
    EXPECT_EQ(made(create).code(), Code::invalid_argument) << slots;
  }
}

class OpensAgainWith : public testing::TestWithParam<std::string> {};

TEST_P(OpensAgainWith, RunOptionsThatDoNotLayOutTheFile) {
  const auto& description = *EngineFactory<H::Engine>::describe(GetParam()).value();
  CreateOptions create = small_heap_options(GetParam());
  create.bytes = create.max_bytes = 4 << 20;
  create.options.erase("log_bytes");
  create.run_options = known_options(description, {{"log_bytes", "65536"}});
  const auto area = [&](const Options& options) {
    return description.area_bytes(options, create.max_threads).value();
  };
  Options all = create.options;
  all.insert(create.run_options.begin(), create.run_options.end());
  const Code expected = area(all) == area(create.options) ? Code::ok : Code::invalid_argument;
  EXPECT_EQ(made(create).code(), expected);
}

INSTANTIATE_TEST_SUITE_P(Engines, OpensAgainWith,
                         testing::ValuesIn(names_of(engine_rows<SimMachine>(),
                                                    [](const auto& row) {
                                                      return is_durable(*row.description) &&
                                                             !row.description->needs_design;
                                                    })),
                         [](const auto& test) { return test_name(test.param); });

struct First {
  static constexpr const char* kTypeName = "opens_again_test.object";
  H::Field<uint64_t> number = 1;
};
struct Second : First {
  static constexpr uint32_t kTypeVersion = 2;
};

// A root without an object would be damage, which no opening accepts.
TEST(OpensAgain, AHeapWhoseMigrationHasReturnedNoObject) {
  alignas(Second) std::byte elsewhere[sizeof(Second)] = {};
  const auto use = [&](H& heap) {
    ASSERT_TRUE(heap.root<First>("object").ok());
    for (Second* object : {static_cast<Second*>(nullptr), reinterpret_cast<Second*>(elsewhere)}) {
      const H::Migration<Second> migrate = [&](void*, uint64_t, uint64_t) { return object; };
      EXPECT_EQ(heap.find_root<Second>("object", migrate).status().code(), Code::invalid_argument);
    }
    EXPECT_TRUE(heap.find_root<First>("object").ok());
  };
  const CreateOptions create = small_heap_options(any_engine());
  expect_opens(create.engine, file_of(create, use).value());
}

}  // namespace
}  // namespace holdfast::opens_again_test
