// SPDX-License-Identifier: Apache-2.0
//
// Large files that are made once and then only read: the populations of simulated runs. One file
// per name; a page at its end says what it is an image of and when it was finished. A file that is
// cut short, was changed after it was finished, or was made from other sources is made anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/status.h"
#include "holdfast/machine/native/medium/file.h"

namespace holdfast {

/// Where in a file the content stands.
struct ImageExtent {
  size_t offset = 0;
  size_t bytes = 0;
};

struct CachedImage {
  native::File file;  ///< open for reading, and whole, whatever happens to its name
  ImageExtent extent;
  bool built = false;   ///< by this call, rather than found
  std::string because;  ///< why it was built
  double build_seconds = 0;
};

/// Thread and process safe: processes that want the same image at the same time build it once.
class ImageCache {
 public:
  /// `folder` is made when needed. Empty: the folder default_folder() names.
  explicit ImageCache(std::string folder);

  /// $HOLDFAST_CACHE, else $XDG_CACHE_HOME/holdfast, else $HOME/.cache/holdfast. Throws
  /// Error(not_found) when none is set.
  static std::string default_folder();

  const std::string& folder() const { return folder_; }

  /// Makes a file at a path that does not exist, and says where its content is.
  using Build = FunctionRef<ImageExtent(const std::string& path)>;

  /// The image with this content, described by `key`: lines "name=value", short enough for a page.
  /// Its file is named after `label` and the key; `sources` identifies the program text it was
  /// built by. Throws Error: the folder cannot be used, the disk is full, `build` threw.
  CachedImage get(const std::string& label, const std::string& key, const std::string& sources,
                  Build build) const;

 private:
  std::string folder_;
};

}  // namespace holdfast
