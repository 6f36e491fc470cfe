// SPDX-License-Identifier: Apache-2.0
//
// A workload is written once, as a class template over a heap type, and runs on every engine and
// every machine: set-up, one operation at a time, check, metrics.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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
};

/// Values by name, completed from a workload's fallbacks.
class Parameters {
 public:
  /// Refuses names the workload does not have, listing the right ones.
  static Result<Parameters> make(const WorkloadInfo& info,
                                 const std::map<std::string, std::string>& given);

  const std::string& text(const std::string& name) const { return values_.at(name); }
  /// Throws Error(invalid_argument) naming the range when the text is not a whole number in it.
  int64_t number(const std::string& name, int64_t low, int64_t high) const;
  double real(const std::string& name, double low, double high) const;
  /// The index of the text in `names`; throws Error(invalid_argument) listing them.
  size_t choice(const std::string& name, std::span<const char* const> names) const;
  const std::map<std::string, std::string>& all() const { return values_; }

 private:
  std::map<std::string, std::string> values_;
};

/// The parameters that decide the type of the workload's root, in all their combinations: what a
/// check of a heap nobody described has to try.
std::vector<std::map<std::string, std::string>> root_variants(const WorkloadInfo& info);

/// What one operation did. `acknowledgement` is what a client would have been told when the
/// operation returned: it is sent through a pipe in kill tests and handed to verify() after
/// recovery.
struct OperationResult {
  int kind = 0;           ///< index into WorkloadInfo::operations
  bool committed = true;  ///< false: rolled back on purpose (TPC-C's 1 %)
  bool read_only = false;
  uint64_t acknowledgement[4] = {};  ///< all zero: nothing to verify
  Response response = {};  ///< of perform(): what the client was told, in the terms of the model
};

/// XyzRunner, or Xyz, which judges as well.
enum class Parts : uint8_t { runner, whole };

/// A workload bound to an open heap; the type-erased face of `template <class H> class Xyz`.
///
/// It runs operations and judges what they left. Running is compiled for each engine; judging only
/// reads, so natively it is compiled once, over the heap at rest (heap/heap_at_rest.h):
/// XyzRunner<H> runs and has an Xyz over that heap judge; Xyz<H> does both.
///
/// Thread safety: operation(), draw() and perform() from any number of threads, each with its own
/// worker number below the number announced to set_up, and its own generator; the rest from one
/// thread, alone.
class WorkloadInstance {
 public:
  virtual ~WorkloadInstance() = default;
  virtual const WorkloadInfo& info() const = 0;
  /// Builds the initial state in an empty heap, in transactions of at most about 1,000 rows.
  virtual Status set_up(int workers, uint64_t seed) = 0;
  /// Finds the state again in a heap that set_up once filled.
  virtual Status attach() = 0;
  /// Throws Error when the heap refuses (full, poisoned).
  virtual OperationResult operation(int worker, Random& random) = 0;

  /// The sequential meaning of the operations; null: this workload has none, and draw(), perform()
  /// and observe() refuse. Where there is one, operation() does perform() of draw(), but may leave
  /// out parts of the response that cost time.
  virtual const SequentialModel* model() const { return nullptr; }
  /// Decides what a worker does next. No operation of the machine.
  virtual Request draw(int worker, Random& random);
  /// Does it; the result has the response.
  virtual OperationResult perform(int worker, const Request& request);

  // What judges. A runner asks its judge; without one it throws Error(misuse).

  /// After recovery: what this acknowledgement promised is there. Messages accumulate per failure.
  virtual Status verify(const OperationResult& acknowledged);
  /// The consistency conditions of the workload, over the whole heap.
  virtual Status check();
  /// Calls visit(block, bytes) for every block the workload owns but its root object, in a read
  /// transaction: what Heap::check takes to find leaks. False when the workload cannot tell.
  virtual bool list_blocks(const std::function<void(const void*, size_t)>& visit);
  /// The content as a state of the model, in one read transaction.
  virtual Result<ModelState> observe();

  /// `judge` is of the same workload and over the same data; it is attached when first asked.
  void judged_by(std::unique_ptr<WorkloadInstance> judge) { judge_ = std::move(judge); }

 private:
  WorkloadInstance& appointed();

  std::unique_ptr<WorkloadInstance> judge_;
  bool judge_attached_ = false;
};

/// A workload as the registry lists it (registry.h): its description, and how to make it over a
/// heap, as a runner or whole.
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
