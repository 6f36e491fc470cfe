// SPDX-License-Identifier: Apache-2.0
//
// The interface of an open heap with its workload. Benchmarks and kill tests use it instead of
// templates, so that each engine is compiled once, behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/status.h"
#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/log_replay.h"
#include "holdfast/heap/heap_check.h"
#include "holdfast/heap/roots.h"
#include "holdfast/machine/machine.h"
#include "holdfast/machine/native/support/options.h"
#include "holdfast/workloads/parts/workload.h"

namespace holdfast {

class Fields;

/// The largest heap.
inline constexpr int64_t kMaxHeapBytes = int64_t{1} << 44;

/// The name that leaves the choice of the backend to the session.
inline constexpr const char* kAutomaticHtm = "auto";

/// Everything that is needed to open a heap for a workload.
struct SessionSpec {
  enum class Open : uint8_t {
    create,          ///< the file must not exist; the workload is set up
    open,            ///< the file exists; it is recovered and the workload found in it
    create_or_open,  ///< open if the file exists, else create
  };

  std::string engine;
  std::string workload;
  std::map<std::string, std::string> parameters;  ///< of the workload
  std::map<std::string, std::string> options;     ///< of engines: name, or engine.name
  std::string path;
  Open open = Open::create;
  size_t bytes = 0;           ///< initial data bytes; 0: the heap's default
  size_t max_bytes = 0;       ///< address space; 0: the heap's default
  std::byte* base = nullptr;  ///< create: address of the data; null: the heap chooses
  int threads = 1;            ///< workers, which the workload is set up for
  Domain domain = Domain::process;
  std::optional<size_t> journal_bytes = {};  ///< create; see CreateOptions
  bool read_only = false;                    ///< open: recover in memory, leave the file alone
  bool force = false;                        ///< allow a domain the medium does not have (emulated)
  std::string latency = "none";              ///< preset of emulated delays
  uint64_t seed = 1;
  /// The backend of hardware transactions. None: the processor's own where they commit and serve
  /// the engine, else soft.
  std::optional<HtmBackend> htm = {};

  /// Reads the fields engine, workload, params, options, path, open, bytes, max_bytes, threads,
  /// domain, force, journal_bytes, latency, htm, seed. Throws Error(invalid_argument), or
  /// Error(unsupported) for an htm backend that this computer lacks.
  static SessionSpec parse(Fields& fields);
  /// As parse(), without engine, path, open and threads: the fields that all configurations of a
  /// benchmark share.
  static SessionSpec parse_common(Fields& fields);
};

/// The findings of a walk over a heap: in the allocator, and below each root.
struct HeapFindings {
  struct Below {
    RootInfo root;
    std::string outcome;
  };
  HeapCheck heap;  ///< its errors include those of the roots
  std::vector<Below> roots;
};

/// An open heap with its workload attached.
///
/// Thread safety: workload().operation() as documented there, inside run_threads; everything else
/// from one thread, alone.
class Session {
 public:
  virtual ~Session() = default;

  virtual std::string engine() const = 0;
  virtual WorkloadInstance& workload() = 0;
  virtual Statistics statistics() = 0;
  /// The most threads run_threads takes.
  virtual int max_threads() const = 0;
  /// Runs body(0) ... body(n - 1) on n pinned threads and waits for them. The body must not throw.
  virtual void run_threads(int n, FunctionRef<void(int)> body) = 0;
  virtual uint64_t now() = 0;
  virtual double nanoseconds(uint64_t ticks) const = 0;
  /// The backend of the engine's hardware transactions; empty for an engine that needs none.
  virtual std::string htm() const = 0;
  /// Describes the domain in words, with "emulated" where it is.
  virtual std::string domain() const = 0;
  virtual size_t heap_bytes() const = 0;
  virtual const RecoveryReport& recovery() const = 0;
  /// Whether this open created the heap (and set the workload up) rather than found it.
  virtual bool created() const = 0;
  /// Walks allocator and structures.
  virtual Result<HeapFindings> check_heap() = 0;
  /// All of the heap's data as a transaction would see it. Call it while no transaction runs.
  virtual std::span<const std::byte> data() const = 0;
  /// Replays the logs. Returns unsupported for engines without a separate replay.
  virtual Result<ReplayReport> replay(const ReplayOptions& options) = 0;
  /// Returns when every operation that had returned is durable.
  virtual Status fence() = 0;
  virtual Promise promise() const = 0;
  virtual Status close() = 0;
  /// Compares the pages of the file with their checksums; see Heap::verify_pages.
  virtual Result<uint64_t> verify_pages() = 0;
};

/// Describes the backends that a benchmark's engines have run on; empty text for engines without.
std::string describe_htm(const SessionSpec& spec, const std::map<std::string, std::string>& taken);

/// Returns the options in `given` that concern this engine: those with its prefix, and those
/// without a prefix whose name it knows.
Options engine_options(const Description& engine, const std::map<std::string, std::string>& given);

/// Refuses an option that none of these engines would take, listing those they have.
Status check_options(const std::vector<const Description*>& engines,
                     const std::map<std::string, std::string>& given);

}  // namespace holdfast
