// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/sim/population.h"

#include <fcntl.h>

#include <algorithm>

#include "holdfast/base/round.h"
#include "holdfast/engines/undo/undo.h"
#include "holdfast/heap/file/inspect.h"
#include "holdfast/heap/layout.h"
#include "holdfast/machine/native/medium/file.h"
#include "holdfast/machine/native/native_machine.h"
#include "holdfast/machine/sim/medium/arena.h"
#include "holdfast/runner/sessions/engine_table.h"
#include "population_sources.h"

namespace holdfast {
namespace {

/// The least number of threads of a population, so that runs with fewer threads share it.
constexpr int kSharedThreads = 64;
/// Address space for a population; its file takes only the used part.
constexpr size_t kMostBytes = size_t{40} << 30;

/// False for parameters that change operations only.
bool shapes_population(const std::string& workload, const std::string& parameter) {
  const auto& others = find_workload(workload).value()->operations_only;
  return std::find(others.begin(), others.end(), parameter) == others.end();
}

/// The engine that builds populations: its loads are plain, also outside of a heap.
using Header = DataHeader<Undo<NativeMachine>>;

size_t used_bytes(const std::byte* data) {
  const auto* header = reinterpret_cast<const Header*>(data);
  const size_t used = header->top.load() * header->chunk_bytes.load();
  return round_up(used, kPageBytes);
}

/// Returns reserved blocks to the disk: the room for growth, and the log, of which only the first
/// line matters while no transaction runs. File systems without hole punching keep them.
void give_back(const std::string& path, const Superblock& s, const ImageExtent& extent) {
  const native::File file(::open(path.c_str(), O_RDWR | O_CLOEXEC), path);
  const auto punch = [&](size_t from, size_t end) {
    if (file.fd() >= 0 && from < end) {
      static_cast<void>(fallocate(file.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                  static_cast<off_t>(from), static_cast<off_t>(end - from)));
    }
  };
  punch(s.file_offset(ExtentKind::area) + kPageBytes, extent.offset);
  punch(extent.offset + extent.bytes, s.file_bytes());
}

ImageExtent build(const Population& p, const std::string& path) {
  SessionSpec spec;
  spec.engine = Undo<NativeMachine>::kDescription.name;
  spec.workload = p.workload;
  spec.parameters = p.parameters;
  spec.path = path;
  spec.bytes = p.bytes;
  spec.max_bytes = std::max(kMostBytes, p.bytes);
  spec.base = p.base;
  spec.threads = p.threads;
  spec.domain = Domain::process;  // an unfinished image is discarded
  spec.seed = kPopulationSeed;
  ImageExtent extent;
  {
    const auto session = open_session(spec).value();
    extent.bytes = used_bytes(session->data().data());
    session->close().check();
  }
  const Superblock superblock = inspect_heap_file(path).value().superblock;
  extent.offset = superblock.file_offset(ExtentKind::data);
  give_back(path, superblock, extent);
  return extent;
}

}  // namespace

Population Population::of(const SessionSpec& spec, const SimOptions& options) {
  Population p;
  p.workload = spec.workload;
  const WorkloadInfo& info = *find_workload(spec.workload).value();
  const Parameters complete = Parameters::make(info, spec.parameters).value();
  for (const auto& [name, value] : complete.all()) {
    if (shapes_population(spec.workload, name)) {
      p.parameters.emplace(name, value);
    }
  }
  p.threads = std::max(spec.threads, kSharedThreads);
  p.bytes = spec.bytes != 0 ? spec.bytes : CreateOptions().bytes;
  p.base = sim::Arena::persistent_base(options.arena_bytes);
  return p;
}

std::string Population::key() const {
  std::string key = "workload=" + workload + "\n";
  for (const auto& [name, value] : parameters) {
    key.append(name).append("=").append(value).append("\n");
  }
  return key + "threads=" + std::to_string(threads) + "\nseed=" + std::to_string(kPopulationSeed) +
         "\nfirst_bytes=" + std::to_string(bytes) +
         "\nbase=" + std::to_string(reinterpret_cast<uintptr_t>(base)) + "\n";
}

PopulationImage open_population(const Population& population, const ImageCache& cache) {
  PopulationImage image;
  auto builder = [&](const std::string& path) { return build(population, path); };
  image.file = cache.get(population.workload, population.key(), kPopulationSources, builder);
  const native::File& file = image.file.file;
  const ImageExtent& extent = image.file.extent;
  image.content =
      sim::FileContent::open(file.fd(), file.path(), extent.offset, extent.bytes).value();
  const auto* header = reinterpret_cast<const Header*>(image.content->data());
  image.chunk_bytes = header->chunk_bytes.load();
  image.slots = static_cast<int>(header->arena_count.load());
  image.partitions = static_cast<int>(header->partitions.load());
  return image;
}

}  // namespace holdfast
