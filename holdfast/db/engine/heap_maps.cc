// SPDX-License-Identifier: Apache-2.0
//
// HeapDB's named maps: the directory of names, and what a map's end leaves behind.
#include <algorithm>
#include <charconv>
#include <memory>
#include <set>

#include "holdfast/db/engine/heap_db.h"
#include "holdfast/db/engine/map_iterator.h"
#include "holdfast/db/store/store.h"

namespace holdfast::db {
namespace {

constexpr size_t kLongestName = 255;
// The deletions of one transaction, while a map is being dropped.
constexpr int kKeysPerDrop = 128;
constexpr size_t kBytesPerDrop = 16 << 10;

/// Returns the length of the UTF-8 character that `text` begins with; 0 if it begins with none.
size_t utf8_character(const Slice& text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t size = first < 0x80                    ? 1
                      : first >= 0xc2 && first < 0xe0 ? 2
                      : first >= 0xe0 && first < 0xf0 ? 3
                      : first >= 0xf0 && first < 0xf5 ? 4
                                                      : 0;
  if (size > text.size()) {
    return 0;
  }
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) {
      return 0;
    }
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) >= 0xa0;
  const bool too_large = first == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : size;
}

Status check_name(const std::string& name) {
  bool good = !name.empty() && name.size() <= kLongestName;
  for (Slice rest = name; good && !rest.empty();) {
    const size_t size = utf8_character(rest);
    good = size != 0 && rest[0] != '\0';
    rest.remove_prefix(size);
  }
  return good ? Status::OK()
              : Status::InvalidArgument(
                    "the name of a map has 1 to 255 bytes of UTF-8 text without zeros");
}

Status damaged_directory() {
  return Status::Corruption(
      "the list of maps is damaged; restore the file from a copy, or list the damage with "
      "`holdfast db verify`");
}

std::string id_key(const std::string& name) {
  return stored_key(KeyKind::id_of_name, name);
}
std::string name_key(uint32_t id) {
  return stored_key(KeyKind::name_of_id, id_bytes(id));
}

}  // namespace

HeapDB::HeapDB(KeySpace::Kind kind)
    : keys_(kind),
      default_map_(std::make_shared<NamedMap>(kDefaultColumnFamilyName, 0, keys_.database())) {}

Status HeapDB::CreateColumnFamily(const ColumnFamilyOptions& options, const std::string& name,
                                  ColumnFamilyHandle** handle) {
  *handle = nullptr;
  if (options.comparator != BytewiseComparator()) {
    return Status::NotSupported("named maps are in the order of bytes, without other comparators");
  }
  return open_map({}, name, Missing::create, Present::refuse, handle);
}

Status HeapDB::OpenColumnFamily(const std::string& name, bool create_if_missing,
                                ColumnFamilyHandle** handle) {
  return open_map({}, name, create_if_missing ? Missing::create : Missing::refuse, Present::open,
                  handle);
}

Status HeapDB::OpenColumnFamily(const ReadOptions& options, const std::string& name,
                                ColumnFamilyHandle** handle) {
  return open_map(options, name, Missing::refuse, Present::open, handle);
}

Status HeapDB::open_map(const ReadOptions& options, const std::string& name, Missing missing,
                        Present present, ColumnFamilyHandle** handle) {
  *handle = nullptr;
  const auto exists = [&] { return Status::InvalidArgument("map '" + name + "' exists already"); };
  if (name == kDefaultColumnFamilyName) {
    if (present == Present::refuse) {
      return exists();
    }
    *handle = new ColumnFamilyHandle(default_map_.map());
    return Status::OK();
  }
  Status status = check_process();
  if (status.ok()) {
    status = keys_.named_maps();
  }
  if (status.ok()) {
    status = check_name(name);
  }
  if (!status.ok()) {
    return status;
  }
  const std::lock_guard lock(maps_mutex_);
  std::string bytes;
  uint32_t id = 0;
  status = get_stored(options, id_key(name), &bytes);
  if (status.ok()) {
    id = read_id(bytes);
    status = present == Present::refuse ? exists() : id == 0 ? damaged_directory() : status;
  } else if (status.IsNotFound()) {
    status = missing == Missing::create ? create_map(name, &id)
                                        : Status::InvalidArgument("there is no map '" + name + "'");
  }
  if (status.ok()) {
    *handle = new ColumnFamilyHandle(shared_map(name, id, options.snapshot));
  }
  return status;
}

Status HeapDB::create_map(const std::string& name, uint32_t* id) {
  const std::string counter = stored_key(KeyKind::next_id);
  std::string bytes;
  Status status = get_stored({}, counter, &bytes);
  if (!status.ok() && !status.IsNotFound()) {
    return status;
  }
  *id = status.ok() ? read_id(bytes) : 1;
  if (*id == 0) {
    return damaged_directory();
  }
  if (*id == UINT32_MAX) {
    return Status::NotSupported("the file has had as many maps as it can; copy it");
  }
  WriteBatch batch;
  WriteBatchContents::put(&batch, counter, id_bytes(*id + 1));
  WriteBatchContents::put(&batch, id_key(name), id_bytes(*id));
  WriteBatchContents::put(&batch, name_key(*id), name);
  return Write({}, &batch);
}

/// Returns the map that all its handles share. The caller holds maps_mutex_.
std::shared_ptr<NamedMap> HeapDB::shared_map(const std::string& name, uint32_t id,
                                             const Snapshot* snapshot) {
  std::weak_ptr<NamedMap>& known = open_maps_[id];
  std::shared_ptr<NamedMap> map = known.lock();
  if (map == nullptr) {
    map = std::make_shared<NamedMap>(name, id, keys_.database());
    std::string ignored;
    map->dropped = snapshot != nullptr && get_stored({}, name_key(id), &ignored).IsNotFound();
    known = map;
  }
  return map;
}

Status HeapDB::ListColumnFamilies(const ReadOptions& options, std::vector<std::string>* names) {
  *names = {kDefaultColumnFamilyName};
  if (keys_.plain()) {
    return Status::OK();
  }
  const std::unique_ptr<Iterator> at(iterate_stored(options));
  for (at->Seek(stored_key(KeyKind::id_of_name)); at->Valid(); at->Next()) {
    const MapKey found = MapKey::of(at->key());
    if (found.part != MapKey::Part::id_of_name) {
      break;
    }
    names->push_back(found.key.ToString());
  }
  return at->status();
}

bool HeapDB::map_name(const std::string& number, std::string* name) {
  uint32_t id = 0;
  const char* const end = number.data() + number.size();
  const auto read = std::from_chars(number.data(), end, id);
  return read.ec == std::errc() && read.ptr == end && id != 0 && !keys_.plain() &&
         get_stored({}, name_key(id), name).ok();
}

Status HeapDB::DropColumnFamily(ColumnFamilyHandle* family) {
  if (KeySpace::is_default(family)) {
    return Status::InvalidArgument("the default map cannot be dropped; delete its entries");
  }
  if (Status status = check_process(); !status.ok()) {
    return status;
  }
  const NamedMap& map = *family->map();
  WriteBatch batch;
  WriteBatchContents::need(&batch, family->map());
  WriteBatchContents::erase(&batch, id_key(map.name));
  WriteBatchContents::erase(&batch, name_key(map.id));
  const Status status = Write({}, &batch);
  return status.ok() ? delete_entries(map.prefix) : status;
}

/// Deletes the entries of a map that does not exist any more, in transactions of bounded size. Each
/// one opens a new view, so that the next one can free what it has replaced. The next one begins
/// behind the deletions, which stay in the tree while a snapshot is open.
Status HeapDB::delete_entries(const std::string& prefix) {
  std::string deleted = prefix;  // entries before this key have been deleted
  Status status;
  int most = kKeysPerDrop;
  for (bool more = true; more && status.ok();) {
    WriteBatch batch;
    std::string last = deleted;
    {
      const std::unique_ptr<Iterator> at(iterate_stored({}));
      at->Seek(deleted);
      for (int keys = 0; at->Valid() && at->key().starts_with(prefix) && keys < most &&
                         batch.ApproximateSize() < kBytesPerDrop;
           ++keys) {
        last.assign(at->key().data(), at->key().size());
        WriteBatchContents::erase(&batch, last);
        at->Next();
      }
      status = at->status();
    }
    more = batch.ApproximateSize() != 0;
    if (more && status.ok()) {
      status = Write({}, &batch);
      if (status.ok()) {
        deleted = std::move(last);
      } else if (lacks_room(status.code()) && most > 1) {
        most = 1;  // a full heap may have room for one, and the next one frees two versions
        status = Status::OK();
      }
    }
  }
  if (status.ok()) {
    static_cast<void>(collect().ok());  // what it does not free, later writes do
  }
  // In a full heap the entries wait for a later opening. Their map is gone all the same.
  return lacks_room(status.code()) ? Status::OK() : status;
}

Status HeapDB::start_maps(bool read_only) {
  if (keys_.plain()) {
    return Status::OK();
  }
  std::set<uint32_t> existing;
  std::vector<uint32_t> dropped;
  {
    const std::unique_ptr<Iterator> at(iterate_stored({}));
    at->Seek(Slice(&kEscape, 1));
    if (!at->Valid()) {
      return at->status();
    }
    keys_.note_write(at->key());
    for (at->Seek(stored_key(KeyKind::name_of_id)); at->Valid(); at->Next()) {
      const MapKey found = MapKey::of(at->key());
      if (found.part != MapKey::Part::name_of_id) {
        break;
      }
      existing.insert(found.map);
    }
    for (at->Seek(stored_key(KeyKind::entry)); at->Valid();) {
      const MapKey found = MapKey::of(at->key());
      if (found.part != MapKey::Part::entry || found.map == 0) {
        break;
      }
      if (existing.count(found.map) == 0) {
        dropped.push_back(found.map);
      }
      at->Seek(end_of_map(stored_key(KeyKind::entry, id_bytes(found.map))));
    }
    if (!at->status().ok()) {
      return at->status();
    }
  }
  Status status;
  for (size_t i = 0; i < dropped.size() && status.ok() && !read_only; ++i) {
    status = delete_entries(stored_key(KeyKind::entry, id_bytes(dropped[i])));
  }
  return status;
}

/// Returns ok if the map exists in the state that the options name. A snapshot from after the drop
/// may see a part of the entries, because they are deleted one after the other.
Status HeapDB::readable(const ReadOptions& options, const ColumnFamilyHandle* family) {
  Status status = keys_.readable(family, options.snapshot != nullptr);
  if (status.ok() && !KeySpace::is_default(family) && family->map()->dropped) {
    std::string ignored;
    status = get_stored(options, name_key(family->GetID()), &ignored);
    return status.IsNotFound() ? KeySpace::dropped(family->GetName()) : status;
  }
  return status;
}

Status HeapDB::GetFromMap(const ReadOptions& options, const ColumnFamilyHandle* family,
                          const Slice& key, std::string* value) {
  Status status = readable(options, family);
  std::string buffer;
  return status.ok() ? get_stored(options, keys_.stored(family, key, &buffer), value) : status;
}

Iterator* HeapDB::IterateOverMap(const ReadOptions& options, const ColumnFamilyHandle* family) {
  std::unique_ptr<Iterator> stored(iterate_stored(options));
  // Afterwards: if the map has not been dropped by now, the iterator sees all of its entries.
  if (Status status = readable(options, family); !status.ok()) {
    return NewErrorIterator(status);
  }
  return bounded(std::make_unique<MapIterator>(std::move(stored), family), options, comparator());
}

/// Ranges count the stored keys, which are longer than those of a named map.
uint64_t HeapDB::ApproximateSizeInMap(const ColumnFamilyHandle* family, const Range& range) {
  if (!keys_.readable(family, false).ok()) {
    return 0;
  }
  std::string from_bytes;
  std::string to_bytes;
  const Slice from = keys_.stored(family, range.start, &from_bytes);
  const Slice to = keys_.stored(family, range.limit, &to_bytes);
  const bool has_gap = KeySpace::is_default(family) && !is_escaped(from) && is_escaped(to);
  if (keys_.plain() || !has_gap) {
    return stored_bytes(from, to);
  }
  const std::string gap_end{kEscape, kEscape};
  return stored_bytes(from, Slice(&kEscape, 1)) + stored_bytes(gap_end, to);
}

void HeapDB::GetApproximateSizes(const Range* range, int n, uint64_t* sizes) {
  for (int i = 0; i < n; ++i) {
    sizes[i] = ApproximateSizeInMap(nullptr, range[i]);
  }
}

Status HeapDB::stored_changes(const WriteBatch& batch, std::vector<Change>* changes, bool* names) {
  for (const auto& map : WriteBatchContents::maps(batch)) {
    if (Status status = keys_.owns(*map); !status.ok()) {
      return status;
    }
  }
  return WriteBatchContents::for_each(batch, [&](const Slice& stored, const Slice* value) {
    Slice key = stored;
    if (is_escaped(stored)) {
      const MapKey parts = MapKey::of(stored);
      if (parts.part == MapKey::Part::unknown) {
        return Status::InvalidArgument("the batch has a key that belongs to no map");
      }
      if (keys_.plain() && !(parts.part == MapKey::Part::entry && parts.map == 0)) {
        return keys_.named_maps();
      }
      *names = *names || parts.part == MapKey::Part::name_of_id;
      key = keys_.plain() ? parts.key : stored;
      keys_.note_write(key);
    }
    changes->push_back({key, value == nullptr ? Slice() : *value, value == nullptr});
    return Status::OK();
  });
}

Status HeapDB::change_names(const std::vector<Change>& changes, FunctionRef<Status()> write) {
  if (Status status = check_process(); !status.ok()) {
    return status;
  }
  const std::lock_guard lock(maps_mutex_);
  std::set<uint32_t> dropped;
  for (const Change& change : changes) {
    const MapKey parts = MapKey::of(change.key);
    if (parts.part != MapKey::Part::name_of_id) {
      continue;
    }
    if (change.deletion) {
      dropped.insert(parts.map);
      continue;
    }
    dropped.erase(parts.map);
    std::string name;
    const Status status = get_stored({}, change.key, &name);
    if (status.ok() && change.value != name) {
      return Status::InvalidArgument(
          "the number of map '" + name + "' is that of map '" + change.value.ToString() +
          "' in these changes; a follower makes no maps itself: start it anew from a copy");
    }
    if (!status.ok() && !status.IsNotFound()) {
      return status;
    }
  }
  const Status status = write();
  if (status.ok()) {
    for (const uint32_t id : dropped) {
      if (const auto map = open_maps_[id].lock()) {
        map->dropped = true;
      }
      open_maps_.erase(id);
    }
  }
  return status;
}

WriteBatch HeapDB::shown_changes(const WriteBatch& stored) const {
  if (!keys_.plain()) {
    return stored;
  }
  WriteBatch shown;
  const Status status =
      WriteBatchContents::for_each(stored, [&](const Slice& key, const Slice* value) {
        value == nullptr ? shown.Delete(key) : shown.Put(key, *value);
        return Status::OK();
      });
  static_cast<void>(status.ok());  // the function above returns ok only
  return shown;
}

}  // namespace holdfast::db
