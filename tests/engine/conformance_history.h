// SPDX-License-Identifier: Apache-2.0
//
// The most general question of the conformance suite. It runs random transactions over registers
// and records all of them. It judges them by the engine's isolation and by the content after
// reopening.
#pragma once

#include <gtest/gtest.h>

#include "holdfast/check/durability/durability.h"
#include "holdfast/check/isolation/isolation.h"
#include "holdfast/check/registers/checked_registers.h"
#include "tests/engine/conformance.h"

namespace holdfast::conformance {

template <class W>
void histories_are_what_was_promised(W& w) {
  check::ProgramShape shape;
  shape.threads = w.threads();
  shape.transactions = 4 * w.rounds();
  shape.shared = 8;
  shape.writes = 3;
  shape.blind = 0.1;
  shape.marks = false;
  constexpr check::Object kBoxed = 2;
  Random random(7);
  const check::RegisterProgram program = random_program(shape, random);
  check::CheckedRegisters<typename W::H> registers(shape.shared, shape.shared, kBoxed);
  registers.set_up(w.heap()).check();
  registers.attach(w.heap()).check();
  check::Recorder recorder(shape.shared, static_cast<uint32_t>(shape.threads));
  w.run(shape.threads, [&](int thread) {
    for (const check::Body& body : program.threads[static_cast<size_t>(thread)]) {
      registers.execute(w.heap(), body, recorder.client(static_cast<uint32_t>(thread))).check();
    }
  });
  const check::History history = recorder.history();
  for (const auto& found : check_isolation(history, w.description().isolation, true)) {
    ADD_FAILURE() << to_string(found, history);
  }
  w.reopen();
  registers.attach(w.heap()).check();
  const auto left = registers.observe(w.heap()).value();
  for (const auto& found : check_durability(history, left, {w.description().durability})) {
    ADD_FAILURE() << to_string(found, history);
  }
  const HeapCheck walked =
      w.heap().check([&](const BlockVisitor& visit) { registers.visit_blocks(visit); }).value();
  EXPECT_TRUE(walked.ok()) << walked.leaked_blocks << " blocks have no owner";
}

}  // namespace holdfast::conformance
