// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/ycsb/ycsb.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& ycsb_info() {
  static const WorkloadInfo info{
      "ycsb",
      "the core workloads A to F of YCSB, one operation in each transaction (Hercules 5.5)",
      {{"records", "100000", "keys at the start", "6"},
       {"bytes", "1000", "size of a value, a multiple of 8; YCSB has 10 fields of 100 bytes", "24"},
       {"mix", "a",
        "a (half of the operations read, half update), b (95 % read), c (all read), d (95 % read "
        "new keys, 5 % insert), e (95 % scan, 5 % insert), f (half read, half read, modify and "
        "write), or weights as read:50,update:50,insert:0,scan:0,rmw:0",
        "read:3,update:3,insert:2,scan:1,rmw:1"},
       {"skew", "0.99", "of the Zipfian choice of keys, 0 (uniform) to 10"},
       {"scan", "100", "most entries of a scan, which reads 1 to so many", "4"},
       {"ack", "0", kAckHelp},
       kPartitionsParameter,
       kCopiesParameter},
      {"read", "update", "insert", "scan", "rmw"},
      true,
      {"mix", "skew", "scan", "ack"}};
  return info;
}

Result<YcsbMix> parse_ycsb_mix(const std::string& text) {
  // YCSB's files workloada to workloadf: read, update, insert, scan, read-modify-write.
  static const std::vector<std::vector<uint32_t>> kLetters = {{50, 50, 0, 0, 0}, {95, 5, 0, 0, 0},
                                                              {1, 0, 0, 0, 0},   {95, 0, 5, 0, 0},
                                                              {0, 0, 5, 95, 0},  {50, 0, 0, 0, 50}};
  const size_t letter = text.size() == 1 ? static_cast<size_t>(text[0]) - 'a' : kLetters.size();
  if (letter < kLetters.size()) {
    return YcsbMix{Weights(kLetters[letter]), text == "d"};
  }
  auto weights = Weights::parse(text, ycsb_info().operations);
  if (!weights.ok()) {
    return Status(Code::invalid_argument, "parameter mix=" + text +
                                              " is not a letter from a to f, and as weights of " +
                                              "operations: " + weights.status().message());
  }
  return YcsbMix{std::move(weights).value()};
}

}  // namespace holdfast
