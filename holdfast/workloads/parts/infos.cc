// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/parts/infos.h"

namespace holdfast {
namespace {

constexpr const char* kAckHelp =
    "1: each update also advances a durable counter, so that what was acknowledged can be verified";

constexpr const char* kRangeHelp =
    "keys are below this; 0 means what keeps the size steady: twice the size, or with pairs the "
    "size";
constexpr const char* kPairsHelp =
    "1: a worker adds the key again that it has just erased, as the two transactions of Romulus "
    "6.2";
constexpr const char* kWritersHelp =
    "the first workers, which do nothing but update while the others look up; 0: all do both";

}  // namespace

const WorkloadInfo& intset_info() {
  static const WorkloadInfo info{
      "intset",
      "set of integers in a red-black tree",
      {{"size", "10000", "keys at the start", {}, "8"},
       {"range", "0", kRangeHelp},
       {"update", "20", "per cent of operations that insert or erase, half and half", {}, "60"},
       {"pairs", "0", kPairsHelp},
       {"writers", "0", kWritersHelp},
       {"ack", "0", kAckHelp}},
      {"lookup", "insert", "erase"}};
  return info;
}

const WorkloadInfo& sps_info() {
  static const WorkloadInfo info{"sps",
                                 "swaps of random entries of an array of 64-bit words",
                                 {{"entries", "10000", "words in the array"},
                                  {"swaps", "1", "swaps per transaction"},
                                  {"stores", "0",
                                   "instead: random entries stored to, 1 up to this number, chosen "
                                   "at random for each transaction"},
                                  {"ack", "0", kAckHelp}},
                                 {"swap"}};
  return info;
}

const WorkloadInfo& map_info() {
  static const WorkloadInfo info{
      "map",
      "map of integers to words: find, put and erase",
      {{"structure",
        "hash",
        "hash (grows), fixed (hash), rbtree or btree",
        {kMapStructures.begin(), kMapStructures.end()}},
       {"size", "10000", "keys at the start", {}, "8"},
       {"buckets", "0", "of fixed; 0 means as many as keys at the start"},
       {"range", "0", kRangeHelp},
       {"update", "20", "per cent of operations that put or erase, half and half", {}, "60"},
       {"pairs", "0", kPairsHelp},
       {"writers", "0", kWritersHelp},
       {"ack", "0", kAckHelp}},
      {"find", "put", "erase"}};
  return info;
}

const WorkloadInfo& list_info() {
  static const WorkloadInfo info{
      "list",
      "set of integers in a sorted linked list",
      {{"size", "1000", "keys at the start", {}, "8"},
       {"range", "0", kRangeHelp},
       {"update", "20", "per cent of operations that insert or erase, half and half", {}, "60"},
       {"pairs", "0", kPairsHelp},
       {"writers", "0", kWritersHelp},
       {"ack", "0", kAckHelp}},
      {"lookup", "insert", "erase"}};
  return info;
}

const WorkloadInfo& bank_info() {
  static const WorkloadInfo info{
      "bank",
      "transfers between accounts, and audits of the total",
      {{"accounts", "1000", "number of accounts", {}, "6"},
       {"balance", "1000", "of each account at the start"},
       {"audit", "10", "per cent of operations that read all accounts", {}, "30"},
       {"ack", "1", kAckHelp}},
      {"transfer", "audit"}};
  return info;
}

const WorkloadInfo& ring_info() {
  static const WorkloadInfo info{
      "ring",
      "a cycle of nodes, permuted by swapping links",
      {{"nodes", "64", "length of the cycle", {}, "8"},
       {"walk", "10", "per cent of operations that walk the whole cycle", {}, "30"},
       {"ack", "1", kAckHelp}},
      {"swap", "move", "walk"}};
  return info;
}

const WorkloadInfo& registers_info() {
  static const WorkloadInfo info{
      "registers",
      "a few words; every write is unique and names its worker and its place in the worker's order",
      {{"count", "8", "number of words, each in a line of its own"},
       {"writes", "2", "words written by an update"},
       {"scan", "50", "per cent of operations that read all words"}},
      {"write", "scan"}};
  return info;
}

}  // namespace holdfast
