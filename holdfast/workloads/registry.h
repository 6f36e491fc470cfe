// SPDX-License-Identifier: Apache-2.0
//
// The registry of workloads. To add one, write its header and source, then add it here.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "holdfast/workloads/array_stream/array_stream.h"
#include "holdfast/workloads/array_swap/array_swap.h"
#include "holdfast/workloads/bank/bank.h"
#include "holdfast/workloads/binary_heap/binary_heap.h"
#include "holdfast/workloads/bplus_tree/bplus_tree.h"
#include "holdfast/workloads/btree_zipf.h"
#include "holdfast/workloads/catalogue.h"
#include "holdfast/workloads/hash_map/hash_map.h"
#include "holdfast/workloads/hash_table/hash_table.h"
#include "holdfast/workloads/hash_update/hash_update.h"
#include "holdfast/workloads/huge/huge.h"
#include "holdfast/workloads/intset.h"
#include "holdfast/workloads/linked_list/linked_list.h"
#include "holdfast/workloads/list.h"
#include "holdfast/workloads/map.h"
#include "holdfast/workloads/parts/partitioned_workload.h"
#include "holdfast/workloads/rb_tree/rb_tree.h"
#include "holdfast/workloads/rbtree_insert/rbtree_insert.h"
#include "holdfast/workloads/rbtree_zipf.h"
#include "holdfast/workloads/registers.h"
#include "holdfast/workloads/ring/ring.h"
#include "holdfast/workloads/sdg/sdg.h"
#include "holdfast/workloads/sps.h"
#include "holdfast/workloads/ssca2/ssca2.h"
#include "holdfast/workloads/tatp/tatp.h"
#include "holdfast/workloads/tpcc/tpcc.h"
#include "holdfast/workloads/tpcc_neworder/tpcc_neworder.h"
#include "holdfast/workloads/vacation/vacation.h"
#include "holdfast/workloads/ycsb/ycsb.h"

namespace holdfast {

template <class... Rows>
struct WorkloadList {};

/// Workloads that compile quickly.
using SmallWorkloads =
    WorkloadList<IntSetWorkload, SpsWorkload, MapWorkload, ListWorkload, BankWorkload, RingWorkload,
                 RegistersWorkload, HashUpdateWorkload, RbtreeInsertWorkload, VacationWorkload,
                 Ssca2Workload, ArraySwapWorkload, ArrayStreamWorkload, BinaryHeapWorkload,
                 LinkedListWorkload, HugeWorkload, HashTableWorkload, BPlusTreeWorkload,
                 HashMapWorkload, RbTreeWorkload, BtreeZipfWorkload, RbtreeZipfWorkload,
                 SdgWorkload, YcsbWorkload, TatpWorkload>;
/// Workloads that take long to compile. Sources that do not need them use SmallWorkloads.
using LargeWorkloads = WorkloadList<TpccWorkload, TpccNeworderWorkload>;

/// The workload of a row, in partitions of the heap if the parameters say so.
template <Parts kParts, class Row, class H>
std::unique_ptr<WorkloadInstance> make_row(H& heap, const Parameters& parameters) {
  const int partitions = parameters.partitions();
  if (partitions == 0) {
    return Row::template make<kParts>(heap, parameters);
  }
  PartitionedWorkload::Instances parts;
  for (int i = 0; i < partitions; ++i) {
    parts.push_back(Row::template make<kParts>(heap, parameters.in_partition(i)));
  }
  return std::make_unique<PartitionedWorkload>(std::move(parts), kParts,
                                               parameters.number("copies", 0, partitions) != 0);
}

/// The workload of this name over the heap, or null if the list has none. Throws
/// Error(invalid_argument) for a wrong parameter.
template <Parts kParts = Parts::whole, class H, class... Rows>
std::unique_ptr<WorkloadInstance> make_from(WorkloadList<Rows...>, const std::string& name, H& heap,
                                            const Parameters& parameters) {
  std::unique_ptr<WorkloadInstance> made;
  (void)((name == Rows::info().name && (made = make_row<kParts, Rows>(heap, parameters), true)) ||
         ...);
  return made;
}

/// The workload of this name over the heap; a runner still needs a judge (judged_by()). Throws
/// Error(not_found) for an unknown name and Error(invalid_argument) for a wrong parameter.
template <Parts kParts = Parts::whole, class H>
std::unique_ptr<WorkloadInstance> make_workload(const std::string& name, H& heap,
                                                const Parameters& parameters) {
  auto made = make_from<kParts>(LargeWorkloads{}, name, heap, parameters);
  if (made == nullptr) {
    made = make_from<kParts>(SmallWorkloads{}, name, heap, parameters);
  }
  if (made == nullptr) {
    find_workload(name).status().check();
  }
  return made;
}

}  // namespace holdfast
