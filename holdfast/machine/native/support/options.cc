// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/support/options.h"

#include "holdfast/base/catalogue.h"

namespace holdfast {

const char* to_string(FlushMethod method) {
  switch (method) {
    case FlushMethod::fdatasync:
      return "fdatasync";
    case FlushMethod::dsync:
      return "dsync";
    case FlushMethod::io_uring:
      return "io_uring";
  }
  return "unknown";
}

const char* to_string(HtmBackend backend) {
  switch (backend) {
    case HtmBackend::soft:
      return "soft";
    case HtmBackend::rtm:
      return "rtm";
    case HtmBackend::power:
      return "power";
  }
  return "unknown";
}

Result<HtmBackend> parse_htm_backend(const std::string& name) {
  return parse_name("htm backend", name,
                    std::array{HtmBackend::soft, HtmBackend::rtm, HtmBackend::power});
}

Result<Latency> parse_latency(const std::string& name) {
  struct Preset {
    const char* name;
    Latency latency;
  };
  static constexpr Preset kPresets[] = {
      {"none", {}},
      // FUR (EuroSys 2026), section 4.1: 310 ns per flushed line, for Optane-like memory behind
      // CXL.
      {"fur", {.pwb_ns = 310, .pfence_ns = 0, .psync_ns = 0}},
      // Romulus (SPAA 2018), section 6, figure 9: delays for STT-RAM and for PCM.
      {"stt", {.pwb_ns = 140, .pfence_ns = 200, .psync_ns = 200}},
      {"pcm", {.pwb_ns = 340, .pfence_ns = 500, .psync_ns = 500}},
  };
  const auto preset = find_row("latency preset", name, kPresets, Code::invalid_argument);
  return preset.ok() ? Result<Latency>(preset.value()->latency) : preset.status();
}

}  // namespace holdfast
