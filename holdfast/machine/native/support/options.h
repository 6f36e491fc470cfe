// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// Delays added to persistence operations, to emulate a slower medium. Each is spun to a deadline.
struct Latency {
  uint64_t pwb_ns = 0;
  uint64_t pfence_ns = 0;
  uint64_t psync_ns = 0;

  bool any() const { return (pwb_ns | pfence_ns | psync_ns) != 0; }
};

/// Presets by name: "none", "fur", "stt", "pcm". A wrong name lists the right ones.
Result<Latency> parse_latency(const std::string& name);

/// Capacity of software transactions, in lines. Generous by default, since `soft` itself has no
/// limit; smaller values imitate a given hardware.
struct SoftOptions {
  size_t store_lines = size_t{1} << 16;
  size_t load_lines = size_t{1} << 20;
};

/// Who runs hardware transactions.
enum class HtmBackend : uint8_t {
  soft,   ///< software, on every processor
  rtm,    ///< Intel's RTM, with XSUSLDTRK where the processor has it
  power,  ///< POWER8 and POWER9
};
const char* to_string(HtmBackend backend);
/// A wrong name lists the right ones.
Result<HtmBackend> parse_htm_backend(const std::string& name);

struct NativeOptions {
  bool create = false;                ///< the file must not exist
  bool read_only = false;             ///< keeps writers out, changes nothing
  std::optional<Domain> domain = {};  ///< none: pmem or eadr where the file offers it, else file
  bool force = false;                 ///< allow pmem and eadr on an ordinary file ("emulated")
  int max_threads = 64;
  Latency latency = {};
  SoftOptions htm = {};
  HtmBackend htm_backend = HtmBackend::soft;
  /// For tests: takes the backend although no trial transaction commits, or the processor says
  /// nothing of it. Its instructions must be executable.
  bool htm_unproven = false;
  /// How dirty pages reach the medium in domain file; null means fdatasync. A test injects
  /// failures.
  std::function<int(int fd)> sync = {};
};

}  // namespace holdfast
