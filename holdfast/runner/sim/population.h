// SPDX-License-Identifier: Apache-2.0
//
// The initial state of a workload for simulated runs, built at native speed into the file of a heap
// (engine `undo`, so `holdfast info` and `check` read it) at the address where the simulated
// machine will have it. It depends on the workload and its scale, and on nothing else of a run:
// runs of all engines, domains, seeds and up to 64 threads map one file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "holdfast/machine/sim/description/sim_options.h"
#include "holdfast/machine/sim/medium/file_content.h"
#include "holdfast/runner/sessions/session.h"
#include "holdfast/runner/sim/image_cache.h"

namespace holdfast {

/// Every population is built with this seed: runs that differ in their seed differ in what they
/// do, not in what they start from.
inline constexpr uint64_t kPopulationSeed = 1;

/// What decides the bytes of a population.
struct Population {
  std::string workload;
  std::map<std::string, std::string> parameters;  ///< all that the initial state depends on
  int threads = 0;                                ///< that the workload and the heap are set up for
  size_t bytes = 0;                               ///< the heap's first size
  std::byte* base = nullptr;                      ///< where the data will lie

  static Population of(const SessionSpec& spec, const SimOptions& options);
  /// As lines "name=value". Two populations with the same key have the same bytes.
  std::string key() const;
};

/// A population in the cache.
struct PopulationImage {
  CachedImage file;
  std::shared_ptr<const sim::FileContent> content;  ///< the data of a heap
  size_t chunk_bytes = 0;                           ///< of that heap
  int slots = 0;                                    ///< of that heap
};

/// Builds it where the cache has none. No simulated machine may exist in the process when it does:
/// the population needs its address. Throws Error.
PopulationImage open_population(const Population& population, const ImageCache& cache);

}  // namespace holdfast
