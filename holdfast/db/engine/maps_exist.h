// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "holdfast/db/column_family.h"
#include "holdfast/db/map_keys.h"

namespace holdfast::db {

/// Checks that named maps exist, inside the transaction that writes to them. So no write gets into
/// a map that is being dropped: dropping a map deletes the key that the check looks up.
class MapsExist {
 public:
  explicit MapsExist(const std::vector<std::shared_ptr<NamedMap>>& maps) {
    for (const auto& map : maps) {
      if (map->id == 0) {
        continue;  // the default map has no name in the file, and cannot be dropped
      }
      maps_.push_back({stored_key(KeyKind::name_of_id, id_bytes(map->id)), &map->name});
    }
  }

  bool empty() const { return maps_.empty(); }

  /// Returns the name of a map that does not exist; null if all exist.
  template <class Versions>
  const std::string* first_missing(const Versions& now) const {
    for (const Wanted& map : maps_) {
      now.hold_key(map.key);
      if (now.find(map.key, nullptr) == nullptr) {
        return map.name;
      }
    }
    return nullptr;
  }

 private:
  struct Wanted {
    std::string key;
    const std::string* name;
  };
  std::vector<Wanted> maps_;
};

}  // namespace holdfast::db
