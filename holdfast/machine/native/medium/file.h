// SPDX-License-Identifier: Apache-2.0
//
// Heap files: creating, opening and locking them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "holdfast/base/status.h"

namespace holdfast::native {

/// Files are sparse: blocks that were never written are not allocated, so disk_bytes may be less.
struct FileSize {
  uint64_t bytes;
  uint64_t disk_bytes;  ///< bytes in allocated blocks
};

/// An open file. The destructor closes it, which also releases its lock.
///
/// A lock belongs to one opening: two openings exclude each other within a process too. It ends
/// when the process closes the file. If the process ends without that, forked children keep the
/// lock until each has closed its copy or ended.
class File {
 public:
  File() = default;
  File(int fd, std::string path);
  File(File&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), opener_(other.opener_), path_(std::move(other.path_)) {}
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(opener_, other.opener_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~File() { close(); }

  /// Closes the file. A forked child closes its copy alone.
  void close();
  /// True in a child forked from the process that opened the file.
  bool inherited() const;

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

  Result<FileSize> size() const;
  /// Reads the first n bytes, or fewer if the file is shorter. Returns how many it has read.
  Result<size_t> read(void* to, size_t n) const;
  /// Returns the bytes of this process's mappings of the file that are in memory. Takes longer the
  /// more memory the process has. Code::unsupported if the system does not show them.
  Result<uint64_t> bytes_in_memory() const;
  /// Deletes the name of a file that could not become a heap. Leaves it if it leads elsewhere by
  /// now: another program has renamed a file, or the working directory has changed.
  void remove_name() const;
  /// True if another opening has the file locked for changes. Readers do not count. Asks about the
  /// lock and does not take it.
  Result<bool> has_writer() const;

 private:
  int fd_ = -1;
  pid_t opener_ = 0;  ///< the process that has opened it
  std::string path_;
};

/// Refuses a path with a zero byte, behind which the system would ignore the rest.
Status check_path(const std::string& path);

/// Makes the name of a new or renamed file durable: it survives a power cut only once its directory
/// is on the medium.
Status sync_directory(const std::string& path);

/// Creates an empty file (mode 0600) and locks it for changes. Its name is durable at return; later
/// content is not. Takes an existing file if it is empty. Code::already_exists, leaving the file
/// alone, if it is not. After any error there is no new file.
Result<File> create_file(const std::string& path);

/// How a file is opened, and what other openings may do meanwhile.
enum class Access : uint8_t {
  change,  ///< others may only look
  read,    ///< others may read and look
  look,    ///< takes no lock, so it works on a file in use; the content may change meanwhile
};
/// Opens an existing file. Code::busy at once, without a wait, if another opening excludes this
/// access; the message names the process if the system shows it. Code::not_found if the file is
/// missing, and Code::invalid_argument for a directory or a pipe.
Result<File> open_file(const std::string& path, Access access);

/// The Status for a failed system call with this errno. The message names the path. For a known
/// cause it says what to do; otherwise it gives `what` and the system's reason.
Status file_error(const std::string& path, const std::string& what, int error);

}  // namespace holdfast::native
