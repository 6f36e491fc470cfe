// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <type_traits>

#include "holdfast/structures/fixed_hash_map.h"
#include "holdfast/structures/hash_map.h"
#include "holdfast/workloads/parts/insert_workload.h"
#include "holdfast/workloads/parts/payload_map.h"

namespace holdfast {

/// The tables among which the parameter `structure` chooses.
inline constexpr std::array kHashTables = {"fixed", "growing"};

const WorkloadInfo& hash_table_info();

template <class H, class Map>
struct HashTableRoot : PayloadMap<H, Map> {
  static constexpr bool kGrows = std::is_default_constructible_v<Map>;
  static constexpr const char* kTypeName =
      kGrows ? "holdfast.workload.HashTable.growing" : "holdfast.workload.HashTable.fixed";
  static constexpr uint32_t kTypeVersion = 1;

  HashTableRoot(int workers, uint64_t elements, uint64_t payload_words, uint64_t)
    requires kGrows
      : PayloadMap<H, Map>(workers, elements, payload_words) {}
  HashTableRoot(int workers, uint64_t elements, uint64_t payload_words, uint64_t buckets)
    requires(!kGrows)
      : PayloadMap<H, Map>(workers, elements, payload_words, buckets) {}
};

/// Hash Table of Hercules (section 5.1), and Hash Table and Hash Map of EHOU (section 4.A): each
/// transaction inserts a key with a payload.
///
///   structure  fixed: a fixed number of buckets; growing: the table grows with its elements
///   size       elements of a new table; an existing heap keeps its own number
///   buckets    of a fixed table
///   bytes      payload of an element, a multiple of 8
///   removes    per cent of the transactions that remove the worker's newest element
///   ack        1: each transaction also counts in its worker's durable ledger
///
/// The keys are those of an InsertWorkload, which also tells the limits.
template <class H, class Map>
class HashTableRunner : public InsertWorkload<H, HashTableRoot<H, Map>> {
 public:
  HashTableRunner(H& heap, const Parameters& parameters)
      : InsertWorkload<H, HashTableRoot<H, Map>>(heap, parameters),
        words_(words_of(parameters, "bytes", 1 << 20)),
        buckets_(static_cast<uint64_t>(parameters.number("buckets", 1, int64_t{1} << 30))) {}

  const WorkloadInfo& info() const override { return hash_table_info(); }

  Status set_up(int workers, uint64_t) override {
    return this->fill(workers, words_, words_, buckets_);
  }

 private:
  uint64_t words_;
  uint64_t buckets_;
};

template <Parts kParts, class H, class Map>
std::unique_ptr<WorkloadInstance> make_hash_table_over(H& heap, const Parameters& parameters) {
  using Runner = HashTableRunner<H, Map>;
  using Workload = std::conditional_t<kParts == Parts::whole, InsertJudge<Runner>, Runner>;
  return std::make_unique<Workload>(heap, parameters);
}

/// The registry's row.
struct HashTableWorkload {
  static const WorkloadInfo& info() { return hash_table_info(); }
  template <Parts kParts, class H>
  static std::unique_ptr<WorkloadInstance> make(H& heap, const Parameters& parameters) {
    using Payloads = typename H::template Field<uint64_t>*;
    return parameters.choice("structure", kHashTables) == 0
               ? make_hash_table_over<kParts, H, FixedHashMap<H, uint64_t, Payloads>>(heap,
                                                                                      parameters)
               : make_hash_table_over<kParts, H, HashMap<H, uint64_t, Payloads>>(heap, parameters);
  }
};

}  // namespace holdfast
