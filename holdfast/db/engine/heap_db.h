// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "holdfast/db/db.h"
#include "holdfast/engines/engine.h"
#include "holdfast/heap/superblock.h"

namespace holdfast::db {

/// The database on this computer, as far as it is the same for all engines; the rest is EngineDB,
/// compiled once per engine. The engine is chosen by name when the file is made, and found in the
/// file afterwards.
class HeapDB : public DB {
 public:
  static holdfast::Result<std::unique_ptr<HeapDB>> open(const Options& options,
                                                        const std::string& name);

  bool GetProperty(const Slice& property, std::string* value) override;
  Status Checkpoint(const std::string& file) override;
  Status Verify() override { return translated(check()); }

  /// Walks everything: damage, and blocks nobody owns.
  virtual holdfast::Status check() = 0;

 private:
  bool property(const std::string& name, std::string* value);
  std::string prometheus();
  Options same_kind();

  virtual const Description& engine() const = 0;
  virtual const Superblock& superblock() const = 0;
  virtual const Comparator* comparator() const = 0;
  virtual Statistics statistics() const = 0;
  virtual size_t open_views() const = 0;
  virtual Result<uint64_t> sequence() = 0;
  virtual Result<uint64_t> old_versions() = 0;
};

}  // namespace holdfast::db
