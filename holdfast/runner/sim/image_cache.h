// SPDX-License-Identifier: Apache-2.0
//
// A cache of large files that are built once and then only read: the populations of simulated runs.
// The last page of a file describes its content and the time it was finished. A file that is
// truncated, was changed later, or was built from other sources is built again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/status.h"
#include "holdfast/machine/native/medium/file.h"

namespace holdfast {

/// The place of the content in a file.
struct ImageExtent {
  size_t offset = 0;
  size_t bytes = 0;
};

struct CachedImage {
  native::File file;  ///< open for reading; stays whole if the name is removed
  ImageExtent extent;
  bool built = false;   ///< by this call; else the file was there
  std::string because;  ///< the reason for building it
  double build_seconds = 0;
};

/// Thread safety: safe for threads and processes; concurrent requests for an image build it once.
class ImageCache {
 public:
  /// Creates `folder` when needed. Empty: default_folder().
  explicit ImageCache(std::string folder);

  /// $HOLDFAST_CACHE, else $XDG_CACHE_HOME/holdfast, else $HOME/.cache/holdfast. Throws
  /// Error(not_found) when none is set.
  static std::string default_folder();

  const std::string& folder() const { return folder_; }

  /// Creates a file at a new path and returns the place of its content.
  using Build = FunctionRef<ImageExtent(const std::string& path)>;

  /// Returns the image that `key` describes: lines "name=value" that fit a page. The file's name
  /// has `label` and the key. `sources` identifies the program text that builds it. Throws Error
  /// when the folder cannot be used, the disk is full, or `build` throws.
  CachedImage get(const std::string& label, const std::string& key, const std::string& sources,
                  Build build) const;

 private:
  std::string folder_;
};

}  // namespace holdfast
