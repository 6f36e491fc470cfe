// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/engine_options.h"

namespace holdfast {

/// The size of the chunks, as in a heap of 1 MiB.
inline constexpr size_t kSmallChunk = 4096;

/// A heap of 64 such chunks, which may grow to 256.
inline CreateOptions small_heap_options(const std::string& engine) {
  using Factory = EngineFactory<AnyEngine<SimMachine>>;
  CreateOptions create;
  create.engine = engine;
  create.bytes = 64 * kSmallChunk;
  create.max_bytes = 256 * kSmallChunk;
  create.chunk_bytes = kSmallChunk;
  create.options = known_options(*Factory::describe(engine).value(),
                                 {{"log_bytes", "16384"}, {"markers", "1024"}});
  return create;
}

/// A small heap of some engine, on a machine of its own.
class SmallHeap : public ::testing::Test {
 protected:
  using H = Heap<AnyEngine<SimMachine>>;

  std::byte* begin() const { return reinterpret_cast<std::byte*>(heap_->superblock().base); }
  std::byte* end() const { return begin() + heap_->superblock().data_bytes(); }

 private:
  SimMachine machine_{{.threads = 1}};

 protected:
  const std::unique_ptr<H> heap_ =
      H::create(machine_, small_heap_options(engine_rows<SimMachine>().front().description->name))
          .value();
};

}  // namespace holdfast
