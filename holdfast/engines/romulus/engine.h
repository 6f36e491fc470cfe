// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/frame/combined_engine.h"
#include "holdfast/engines/romulus/gates.h"
#include "holdfast/engines/romulus/writer.h"

namespace holdfast::romulus {

/// The options of all three Romulus engines.
inline constexpr OptionInfo kOptions[] = {
    {"combine", "1",
     "0: every thread runs its own updates; 1: one thread runs those of all that wait"}};

inline Result<size_t> area_bytes(const Options& options, int /*max_threads*/) {
  const auto combine = option_number(options, "combine", 1, 0, 1);
  return combine.ok() ? Result<size_t>(kPageBytes) : Result<size_t>(combine.status());
}

template <class M, class Variant>
using GateOf = typename Variant::template Gate<M>;

template <class M, class Variant>
using FrameOf = CombinedEngine<M, GateOf<M, Variant>, Writer<M, GateOf<M, Variant>>>;

/// The three Romulus engines; see romulus.h, and Engine in engines/engine.h for the contract. A
/// Variant has the parts that differ: kDescription, kFullCopy, and Gate<M>.
template <class M, class Variant>
class RomulusEngine : public FrameOf<M, Variant> {
  using Frame = FrameOf<M, Variant>;

 public:
  static constexpr Description kDescription = Variant::kDescription;

  RomulusEngine(M& machine, const Regions& regions, const Options& options, int /*max_threads*/)
      : Frame(machine, regions, option_number(options, "combine", 1, 0, 1).value() == 1,
              Variant::kFullCopy) {}

  Status format() {
    return Frame::on_medium([&] { this->writer_.twin().format(); });
  }

  Status recover(RecoveryReport& report) {
    Status status;
    const Status medium = Frame::on_medium([&] { status = this->writer_.recover(report); });
    return medium.ok() ? status : medium;
  }

  Status close() {
    return Frame::on_medium([&] { this->writer_.twin().finish(); });
  }

  /// Checks that main and twin are equal byte for byte, as they must be while no transaction runs.
  Status compare_copies() {
    const uint64_t bytes = this->regions_.bytes;
    const uint64_t at = this->writer_.twin().first_difference(bytes);
    return at == bytes ? Status()
                       : Status(Code::corrupt, "the two copies of the data differ at offset " +
                                                   std::to_string(at));
  }
};

}  // namespace holdfast::romulus
