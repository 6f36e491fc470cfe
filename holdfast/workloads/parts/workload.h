// SPDX-License-Identifier: Apache-2.0
//
// Workloads: benchmarks and checkers, written once as class templates over a heap type, that run on
// every engine and every machine. A workload has set-up, one operation at a time, a check, and
// metrics.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "holdfast/base/options.h"
#include "holdfast/base/random.h"
#include "holdfast/base/status.h"
#include "holdfast/check/linearizability/operation_model.h"

namespace holdfast {

struct WorkloadInfo {
  const char* name;
  const char* title;
  std::vector<OptionInfo> parameters;
  std::vector<const char*> operations;  ///< names of the kinds of operation, by index
  bool has_model = false;               ///< WorkloadInstance::model() is not null
  /// Parameters that change operations but not the initial state, so that runs share a population.
  std::vector<const char*> operations_only = {};
  /// The workload that this one is a preset of (preset.h); null if it is none.
  const char* preset_of = nullptr;
};

/// A workload's parameters by name, completed by its fallbacks.
class Parameters {
 public:
  /// Fails with invalid_argument for an unknown name; the message lists the known ones.
  static Result<Parameters> make(const WorkloadInfo& info,
                                 const std::map<std::string, std::string>& given);

  const std::string& text(const std::string& name) const { return values_.at(name); }
  /// Throws Error(invalid_argument), naming the range, unless the text is a whole number in it.
  int64_t number(const std::string& name, int64_t low, int64_t high) const;
  double real(const std::string& name, double low, double high) const;
  /// The index of the text in `names`. Throws Error(invalid_argument), listing them, if it is not
  /// among them.
  size_t choice(const std::string& name, std::span<const char* const> names) const;
  const std::map<std::string, std::string>& all() const { return values_; }

  /// The number of partitions of the heap that the workload needs, by its parameters `partitions`
  /// and `copies`; 0 if it does not divide the heap. Throws Error(invalid_argument) if they
  /// contradict each other.
  int partitions() const { return partitions_in(values_); }
  /// As partitions(), of parameters that may be incomplete: for the heap that they need.
  static int partitions_in(const std::map<std::string, std::string>& given);
  /// These parameters for the part of the workload in one partition.
  Parameters in_partition(int partition) const;
  /// The partition of such parameters.
  std::optional<int> partition() const { return partition_; }

 private:
  std::map<std::string, std::string> values_;
  std::optional<int> partition_;
};

/// All combinations of the parameters that decide the type of the workload's root. A check of a
/// heap without a description tries them all.
std::vector<std::map<std::string, std::string>> root_variants(const WorkloadInfo& info);

/// The result of one operation. `acknowledgement` is the message that a client would get when the
/// operation returns. Kill tests send it through a pipe, and hand it to verify() after recovery.
struct OperationResult {
  int kind = 0;           ///< index into WorkloadInfo::operations
  bool committed = true;  ///< false: rolled back on purpose (TPC-C's 1 %)
  bool read_only = false;
  uint64_t acknowledgement[4] = {};  ///< all zero: nothing to verify
  Response response = {};  ///< of perform(): the client's answer, in the terms of the model
};

/// The parts of a workload to make: XyzRunner, or Xyz, which judges as well.
enum class Parts : uint8_t { runner, whole };

/// A workload bound to an open heap: the type-erased interface of `template <class H> class Xyz`.
///
/// It runs operations and judges their results. Running is compiled for each engine. Judging only
/// reads, so natively it is compiled once, over the heap at rest (heap/heap_at_rest.h).
/// XyzRunner<H> runs, and asks an Xyz over that heap to judge; Xyz<H> does both.
///
/// Thread safety: any number of threads may call operation(), draw() and perform(), each with its
/// own generator and its own worker number below the number given to set_up(). The other functions
/// are for one thread, alone. An operation is durable at return as its engine promises.
class WorkloadInstance {
 public:
  virtual ~WorkloadInstance() = default;
  virtual const WorkloadInfo& info() const = 0;
  /// Builds the initial state in an empty heap, in transactions of at most about 1,000 rows.
  virtual Status set_up(int workers, uint64_t seed) = 0;
  /// Finds the state in a heap that set_up() has filled.
  virtual Status attach() = 0;
  /// Runs one operation. Throws Error if the heap refuses it (full, poisoned).
  virtual OperationResult operation(int worker, Random& random) = 0;

  /// The sequential meaning of the operations. Null: the workload has none, and draw(), perform()
  /// and observe() refuse. If there is one, operation() equals perform() of draw(), except that it
  /// may leave out parts of the response that cost time.
  virtual const SequentialModel* model() const { return nullptr; }
  /// Chooses a worker's next operation. Performs no operation of the machine.
  virtual Request draw(int worker, Random& random);
  /// Performs the operation; the result contains the response.
  virtual OperationResult perform(int worker, const Request& request);

  // Judging. A runner asks its judge; without a judge it throws Error(misuse).

  /// Checks after recovery that the heap has everything this acknowledgement promised. The message
  /// lists the failures.
  virtual Status verify(const OperationResult& acknowledged);
  /// Checks the workload's consistency conditions over the whole heap.
  virtual Status check();
  /// Calls visit(block, bytes) in a read transaction for every block that the workload owns, except
  /// its root object. Heap::check finds leaks by that. Returns false if the workload cannot list
  /// its blocks.
  virtual bool list_blocks(const std::function<void(const void*, size_t)>& visit);
  /// Returns the content as a state of the model, read in one transaction.
  virtual Result<ModelState> observe();

  /// Sets the judge, which is of the same workload and over the same data. It is attached when
  /// first asked.
  void judged_by(std::unique_ptr<WorkloadInstance> judge) { judge_ = std::move(judge); }

 private:
  WorkloadInstance& appointed();

  std::unique_ptr<WorkloadInstance> judge_;
  bool judge_attached_ = false;
};

/// A workload's entry in the registry (registry.h): its description, and a function that makes it
/// over a heap, as a runner or whole.
template <const WorkloadInfo& (*kInfo)(), template <class> class Runner,
          template <class> class Whole>
struct WorkloadRow {
  static const WorkloadInfo& info() { return kInfo(); }
  template <Parts kParts, class H>
  static std::unique_ptr<WorkloadInstance> make(H& heap, const Parameters& parameters) {
    using Workload = std::conditional_t<kParts == Parts::whole, Whole<H>, Runner<H>>;
    return std::make_unique<Workload>(heap, parameters);
  }
};

}  // namespace holdfast
