// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/parts/frame/pht_options.h"

#include "holdfast/base/random.h"
#include "holdfast/base/round.h"
#include "holdfast/engines/parts/basics/log_replay.h"
#include "holdfast/engines/parts/durability/linked/replay_table.h"

namespace holdfast {
namespace {

Result<uint64_t> choice(const Options& options, const std::string& name, const std::string& zero,
                        const std::string& one) {
  const auto found = options.find(name);
  if (found == options.end() || found->second == zero) {
    return uint64_t{0};
  }
  if (found->second == one) {
    return uint64_t{1};
  }
  return Status(Code::invalid_argument,
                "option " + name + "=" + found->second + " is neither " + zero + " nor " + one);
}

}  // namespace

Result<PhtOptions> PhtOptions::parse(const Options& options) {
  PhtOptions o;
  const auto retries = option_number(options, "retries", o.retries, 0, 1000);
  const auto log_bytes = option_number(options, "log_bytes", o.log_bytes, 512, 128 << 20);
  const auto background = option_number(options, "background", 1, 0, 1);
  const auto capacity = choice(options, "capacity", "retry", "lock");
  const auto order = choice(options, "order", "links", "scan");
  const auto replayers = option_number(options, "replayers", 1, 1, kMostReplayers);
  for (const auto* result : {&retries, &log_bytes, &background, &capacity, &order, &replayers}) {
    if (!result->ok()) {
      return result->status();
    }
  }
  o.retries = retries.value();
  o.log_bytes = round_down(log_bytes.value(), kMaxLineBytes);
  o.background = background.value() == 1;
  o.replayers = replayers.value();
  o.capacity_locks = capacity.value() == 1;
  o.order = order.value() == 0 ? ReplayOrder::links : ReplayOrder::scan;
  return o;
}

PhtArea::PhtArea(const PhtOptions& options, int max_threads)
    : logs(max_threads + 2),
      log_bytes(options.log_bytes),
      log_offset(round_up(kTableOffset + 2 * replay_table_bytes(logs), kPageBytes)),
      bytes(log_offset + static_cast<size_t>(logs) * log_bytes) {}

void PhtArea::header(uint64_t magic, uint64_t (&words)[kHeaderWords]) const {
  words[0] = magic;
  words[1] = log_bytes;
  words[2] = static_cast<uint64_t>(logs);
  words[3] = mix64(words[0] ^ mix64(words[1] ^ mix64(words[2])));
}

Result<size_t> pht_area_bytes(const Options& options, int max_threads) {
  const auto parsed = PhtOptions::parse(options);
  return parsed ? Result<size_t>(PhtArea(parsed.value(), max_threads).bytes)
                : Result<size_t>(parsed.status());
}

Result<size_t> volatile_pht_area_bytes(const Options& options, int /*max_threads*/) {
  const auto parsed = PhtOptions::parse(options);
  return parsed ? Result<size_t>(kPageBytes) : Result<size_t>(parsed.status());
}

}  // namespace holdfast
