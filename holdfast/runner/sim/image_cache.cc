// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/sim/image_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "holdfast/base/checksum.h"
#include "holdfast/base/round.h"
#include "holdfast/base/seconds_since.h"
#include "holdfast/machine/machine.h"
#include "holdfast/machine/native/medium/file.h"

namespace holdfast {
namespace {

constexpr const char* kMark = "holdfast image 1\n";
constexpr const char* kAdvice =
    ". Simulated runs keep the populations of their workloads there; make room, or name another "
    "folder with HOLDFAST_CACHE, or run with cache=off";

using Trailer = std::array<char, kPageBytes>;

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  const Code code = error == ENOSPC || error == EDQUOT                    ? Code::out_of_space
                    : error == EACCES || error == EROFS || error == EPERM ? Code::permission_denied
                                                                          : Code::io_error;
  throw Error(Status(
      code, path + ": " + what + " (" + std::generic_category().message(error) + ")" + kAdvice));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here sets any
  return value == nullptr ? "" : value;
}

std::string sixteen_digits(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "%016" PRIx64, value);
  return text;
}

std::string checksum_line(const std::string& text) {
  return "check=" + sixteen_digits(checksum(text.data(), text.size())) + "\n";
}

/// The first bytes of an image's trailer.
std::string identity(const std::string& key, const std::string& sources) {
  return kMark + key + "sources=" + sources + "\n";
}

std::string extent_text(const ImageExtent& extent, int64_t finished) {
  return "offset=" + std::to_string(extent.offset) + "\nbytes=" + std::to_string(extent.bytes) +
         "\nfinished=" + std::to_string(finished) + "\n";
}

/// Returns the reason for which the file cannot be used; or nothing, and sets `extent`.
std::optional<std::string> objection(const native::File& file, const std::string& key,
                                     const std::string& sources, ImageExtent& extent) {
  struct stat status{};
  if (file.fd() < 0 || fstat(file.fd(), &status) != 0) {
    return "there was none";
  }
  Trailer trailer{};
  const auto at = status.st_size - static_cast<off_t>(trailer.size());
  if (at < 0 || pread(file.fd(), trailer.data(), trailer.size(), at) !=
                    static_cast<ssize_t>(trailer.size())) {
    return "its file was cut short";
  }
  const std::string text(trailer.data(), strnlen(trailer.data(), trailer.size()));
  if (!text.starts_with(kMark)) {
    return "its file was cut short or damaged";
  }
  const std::string expected = identity(key, sources);
  if (!text.starts_with(expected)) {
    return "it was made by another version of the program";
  }
  int64_t finished = 0;
  if (std::sscanf(text.c_str() + expected.size(), "offset=%zu\nbytes=%zu\nfinished=%" SCNd64,
                  &extent.offset, &extent.bytes, &finished) != 3) {
    return "its description was damaged";
  }
  const std::string described = expected + extent_text(extent, finished);
  if (text != described + checksum_line(described) ||
      extent.offset + extent.bytes > static_cast<size_t>(at)) {
    return "its description was damaged";
  }
  // Any write to a finished image changes its time of modification.
  if (status.st_mtim.tv_sec != finished || status.st_mtim.tv_nsec != 0) {
    return "its file was changed after it was made";
  }
  return std::nullopt;
}

/// Writes the finished file's trailer, makes the file durable and sets its time.
void seal(const std::string& path, const std::string& key, const std::string& sources,
          const ImageExtent& extent) {
  const native::File file(::open(path.c_str(), O_RDWR | O_CLOEXEC), path);
  struct stat status{};
  if (file.fd() < 0 || fstat(file.fd(), &status) != 0) {
    fail(path, "the image cannot be opened", errno);
  }
  const int64_t finished = std::time(nullptr);
  std::string text = identity(key, sources) + extent_text(extent, finished);
  text += checksum_line(text);
  Trailer trailer{};
  if (text.size() >= trailer.size()) {
    throw Error(Status(Code::invalid_argument, path + ": the image's description is too long"));
  }
  std::memcpy(trailer.data(), text.data(), text.size());
  const auto end = round_up(static_cast<size_t>(status.st_size), kPageBytes);
  if (pwrite(file.fd(), trailer.data(), trailer.size(), static_cast<off_t>(end)) !=
      static_cast<ssize_t>(trailer.size())) {
    fail(path, "the image cannot be written", errno);
  }
  // Before the rename: a power cut must not leave the name on half an image.
  if (fsync(file.fd()) != 0) {
    fail(path, "the image cannot be written", errno);
  }
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                             {.tv_sec = finished, .tv_nsec = 0}};
  if (futimens(file.fd(), times) != 0 || fsync(file.fd()) != 0) {
    fail(path, "the image cannot be dated", errno);
  }
}

/// The lock of the process that builds. The kernel releases it with the descriptor, also when the
/// process is killed.
native::File lock(const std::string& path) {
  native::File file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600), path);
  if (file.fd() < 0) {
    fail(path, "the cache folder cannot be written to", errno);
  }
  while (flock(file.fd(), LOCK_EX) != 0) {
    if (errno != EINTR) {
      fail(path, "cannot be locked", errno);
    }
  }
  return file;
}

}  // namespace

ImageCache::ImageCache(std::string folder)
    : folder_(folder.empty() ? default_folder() : std::move(folder)) {}

std::string ImageCache::default_folder() {
  if (const std::string chosen = variable("HOLDFAST_CACHE"); !chosen.empty()) {
    return chosen;
  }
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) {
    return cache + "/holdfast";
  }
  if (const std::string home = variable("HOME"); !home.empty()) {
    return home + "/.cache/holdfast";
  }
  throw Error(Status(Code::not_found,
                     "there is no folder for the populations of simulated workloads: set "
                     "HOLDFAST_CACHE to one, or run with cache=off"));
}

CachedImage ImageCache::get(const std::string& label, const std::string& key,
                            const std::string& sources, Build build) const {
  const std::string path =
      folder_ + "/" + label + "-" + sixteen_digits(checksum(key.data(), key.size())) + ".heap";
  CachedImage image;
  const auto look = [&] {
    image.file = native::File(::open(path.c_str(), O_RDONLY | O_CLOEXEC), path);
    return objection(image.file, key, sources, image.extent);
  };
  if (!look()) {
    return image;
  }
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) {
    fail(folder_, "the cache folder cannot be made", error.value());
  }
  const native::File locked = lock(path + ".lock");
  const auto why = look();  // another process may have built it in the meantime
  if (!why) {
    return image;
  }
  const auto start = std::chrono::steady_clock::now();
  const std::string unfinished = path + ".new";
  std::filesystem::remove(unfinished, error);  // left by a killed process: this one holds the lock
  try {
    seal(unfinished, key, sources, build(unfinished));
  } catch (const Error& failure) {
    std::filesystem::remove(unfinished, error);
    const std::string& what = failure.status().message();
    const bool advised = what.ends_with(kAdvice);
    throw Error(Status(failure.status().code(), advised ? what : what + kAdvice));
  } catch (...) {
    std::filesystem::remove(unfinished, error);
    throw;
  }
  if (rename(unfinished.c_str(), path.c_str()) != 0) {
    fail(path, "cannot be replaced", errno);
  }
  if (const auto still = look()) {
    throw Error(Status(Code::io_error, path + ": the image was just made, and " + *still));
  }
  image.built = true;
  image.because = *why;
  image.build_seconds = seconds_since(start);
  return image;
}

}  // namespace holdfast
