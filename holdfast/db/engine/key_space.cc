// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/engine/key_space.h"

namespace holdfast::db {

Status KeySpace::named_maps() const {
  switch (kind_) {
    case Kind::old_file:
      return Status::NotSupported(
          "the file was made before named maps existed; make a copy that can have them with "
          "`holdfast db backup`, db.backup() or DB::Checkpoint");
    case Kind::own_comparator:
      return Status::NotSupported(
          "a database with a comparator of its own has no named maps: the comparator would see "
          "keys of several maps");
    case Kind::with_maps:
      break;
  }
  return Status::OK();
}

Status KeySpace::owns(const NamedMap& map) const {
  return map.database == database_
             ? Status::OK()
             : Status::InvalidArgument("the handle of map '" + map.name +
                                       "' belongs to another database, or to one that has been "
                                       "closed; open the map in this one");
}

Status KeySpace::readable(const ColumnFamilyHandle* family, bool as_of_snapshot) const {
  if (family == nullptr) {
    return Status::OK();
  }
  const NamedMap& map = *family->map();
  Status status = owns(map);
  return status.ok() && !as_of_snapshot && map.dropped ? dropped(map.name) : status;
}

Status KeySpace::dropped(const std::string& name) {
  return Status::InvalidArgument("map '" + name +
                                 "' has been dropped; open it again to make a new one");
}

}  // namespace holdfast::db
