// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/medium/persistence.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <filesystem>
#include <fstream>

namespace holdfast::native {
namespace {

/// Whether the file can be mapped with MAP_SYNC. The kernel accepts that flag only if the file
/// system makes all metadata durable at a page fault. A write-back alone then makes a store
/// durable.
bool map_sync_works(int fd) {
  void* p = mmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
  if (p == MAP_FAILED) {
    return false;
  }
  munmap(p, kPageBytes);
  return true;
}

/// Whether the file's persistent memory device reports caches in its persistence domain. The
/// device's region reports it, in a sysfs directory somewhere above the block device's directory.
bool domain_is_cpu_cache(int fd) {
  struct stat info{};
  if (fstat(fd, &info) != 0) {
    return false;
  }
  std::error_code error;
  std::filesystem::path place =
      std::filesystem::canonical("/sys/dev/block/" + std::to_string(major(info.st_dev)) + ':' +
                                     std::to_string(minor(info.st_dev)),
                                 error);
  while (!error && place.has_relative_path()) {
    std::ifstream file(place / "persistence_domain");
    if (std::string word; file >> word) {
      return word == "cpu_cache";
    }
    place = place.parent_path();
  }
  return false;
}

std::string describe(const Persistence& p) {
  switch (p.domain) {
    case Domain::process:
      return "process (no flushes; survives a kill, not a power cut)";
    case Domain::file:
      return "file (fdatasync)";
    case Domain::pmem:
    case Domain::eadr:
      break;
  }
  std::string text = holdfast::to_string(p.domain);
  text += p.domain == Domain::pmem ? std::string(" (") + to_string(p.write_back) + " and fence)"
                                   : " (fences only)";
  if (p.emulated) {
    text += ", emulated: an ordinary file, nothing survives a power cut";
  }
  return text;
}

std::string describe(const Latency& l) {
  return ", added delays: pwb " + std::to_string(l.pwb_ns) + " ns, pfence " +
         std::to_string(l.pfence_ns) + " ns, psync " + std::to_string(l.psync_ns) + " ns";
}

}  // namespace

Offer examine(int fd) {
  Offer offer;
  offer.map_sync = map_sync_works(fd);
  offer.cpu_cache = offer.map_sync && domain_is_cpu_cache(fd);
  struct statfs system{};
  offer.in_memory =
      fstatfs(fd, &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
  return offer;
}

Result<Persistence> choose_persistence(const std::string& path, const Offer& offer,
                                       const NativeOptions& options) {
  Persistence p;
  if (options.domain) {
    p.domain = *options.domain;
  } else if (offer.map_sync) {
    p.domain = offer.cpu_cache ? Domain::eadr : Domain::pmem;
  }
  const bool needs_memory = p.domain == Domain::pmem || p.domain == Domain::eadr;
  if (needs_memory) {
    const bool real = offer.map_sync && (p.domain == Domain::pmem || offer.cpu_cache);
    if (!real && !options.force) {
      return Status(
          Code::unsupported,
          path + ": domain " + holdfast::to_string(p.domain) +
              (offer.map_sync
                   ? " needs caches inside the persistence domain, and the system does not "
                     "say so (persistence_domain in sysfs); use domain pmem"
                   : " needs a file on persistent memory (a DAX file system with MAP_SYNC); "
                     "use domain file") +
              ", or the option force, which emulates the domain: then nothing survives a power "
              "cut");
    }
    p.emulated = !real;
    p.map_sync = offer.map_sync;
  }
  if (p.domain == Domain::pmem) {
    p.write_back = detect_write_back();
    if (p.write_back == WriteBack::none) {
      return Status(Code::unsupported,
                    path + ": this processor has no instruction to write back a cache line");
    }
  }
#if defined(__x86_64__)
  // A locked instruction drains stores and completes CLWB and CLFLUSHOPT (Intel SDM). It does
  // nothing for the dirty pages of a file.
  p.rmw_orders_pwb = p.domain != Domain::file;
#endif
  p.waits_for_device = p.domain == Domain::file && !offer.in_memory;
  p.description = describe(p);
  if (options.latency.any()) {
    p.description += describe(options.latency);
  }
  if (options.read_only) {
    p.description += ", read-only";
  }
  return p;
}

}  // namespace holdfast::native
