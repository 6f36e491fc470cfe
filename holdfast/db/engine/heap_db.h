// SPDX-License-Identifier: Apache-2.0
//
// The part of the database that is the same for all engines.
#pragma once

#include <memory>
#include <string>

#include "holdfast/db/db.h"
#include "holdfast/engines/engine.h"
#include "holdfast/heap/file/superblock.h"
#include "holdfast/machine/native/medium/medium.h"

namespace holdfast::db {

/// The database in a heap file, without the members that depend on the engine; EngineDB, compiled
/// once per engine, has these. Options::engine names the engine of a new file. The superblock names
/// it for an existing file.
class HeapDB : public DB {
 public:
  static holdfast::Result<std::unique_ptr<HeapDB>> open(const Options& options,
                                                        const std::string& name);

  Status DeleteRange(const WriteOptions& options, const Slice& begin, const Slice& end) override;
  bool GetProperty(const Slice& property, std::string* value) override;
  Status Checkpoint(const std::string& file) override;
  Status Verify() override { return translated(check()); }

  /// Walks the whole heap; corrupt: damage, or blocks that belong to nothing.
  virtual holdfast::Status check() = 0;

 private:
  bool property(const std::string& name, std::string* value);
  std::string prometheus();
  /// Returns the options for a new database with this one's engine and sizes.
  Options same_kind();

  virtual const Description& engine() const = 0;
  virtual const Superblock& superblock() const = 0;
  virtual const NativeMedium& medium() const = 0;
  virtual const Comparator* comparator() const = 0;
  virtual Statistics statistics() const = 0;
  virtual size_t open_views() const = 0;
  virtual Result<uint64_t> sequence() = 0;
  virtual Result<uint64_t> old_versions() = 0;
};

}  // namespace holdfast::db
