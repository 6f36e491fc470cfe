// SPDX-License-Identifier: Apache-2.0
//
// The initial state of a workload for simulated runs, built at native speed into the file of a heap
// at the simulated machine's address. `holdfast info` and `check` read the file. It depends only on
// the workload and its scale: runs of all engines, domains, seeds and up to 64 threads map one
// file.
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

/// The seed of every population: a run's own seed changes its operations, not its initial state.
inline constexpr uint64_t kPopulationSeed = 1;

/// The values that decide the bytes of a population.
struct Population {
  std::string workload;
  std::map<std::string, std::string> parameters;  ///< those the initial state depends on
  int threads = 0;                                ///< of the workload and the heap
  size_t bytes = 0;                               ///< the heap's first size
  std::byte* base = nullptr;                      ///< address of the data

  static Population of(const SessionSpec& spec, const SimOptions& options);
  /// The values as lines "name=value". Populations with equal keys have equal bytes.
  std::string key() const;
};

/// A population in the cache.
struct PopulationImage {
  CachedImage file;
  std::shared_ptr<const sim::FileContent> content;  ///< the data of a heap
  size_t chunk_bytes = 0;                           ///< of that heap
  int slots = 0;                                    ///< of that heap
  int partitions = 0;                               ///< of that heap
};

/// Returns the population from the cache, or builds it. No simulated machine may exist in the
/// process during a build, which needs its address range. Throws Error.
PopulationImage open_population(const Population& population, const ImageCache& cache);

}  // namespace holdfast
