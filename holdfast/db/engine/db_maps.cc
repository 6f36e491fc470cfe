// SPDX-License-Identifier: Apache-2.0
//
// The functions of DB for several keys and for named maps, on top of its virtual functions.
#include <memory>
#include <utility>

#include "holdfast/db/db.h"
#include "holdfast/db/engine/key_space.h"

namespace holdfast::db {
namespace {

Status not_overridden(const char* function) {
  return Status::NotSupported(function, "this class derived from DB does not override it");
}

/// Calls get(options, i, &value) for each key; all calls read one state. Without a snapshot of one
/// each key has an error.
template <class GetOne>
std::vector<Status> get_all(DB& db, const ReadOptions& options, size_t keys,
                            std::vector<std::string>* values, GetOne&& get) {
  const auto release = [&db](const Snapshot* snapshot) { db.ReleaseSnapshot(snapshot); };
  std::unique_ptr<const Snapshot, decltype(release)> own(nullptr, release);
  ReadOptions same_state = options;
  const bool needs_own = options.snapshot == nullptr && keys > 1;
  if (needs_own) {
    own.reset(db.GetSnapshot());
    same_state.snapshot = own.get();
  }
  values->resize(keys);
  std::vector<Status> found;
  found.reserve(keys);
  for (size_t i = 0; i < keys; ++i) {
    Status status = get(same_state, i, &(*values)[i]);
    if (needs_own && own == nullptr && (status.ok() || status.IsNotFound())) {
      status = Status::IOError("MultiGet", "no snapshot could be taken, to read all keys from");
    }
    found.push_back(std::move(status));
  }
  return found;
}

/// Returns whether the handle stands for this database's default map. The functions for named maps
/// refuse a handle of another database's default map.
bool is_own_default(DB& db, const ColumnFamilyHandle* family) {
  if (!KeySpace::is_default(family)) {
    return false;
  }
  const ColumnFamilyHandle* const own = family == nullptr ? nullptr : db.DefaultColumnFamily();
  return own == nullptr || own->map() == family->map();
}

}  // namespace

std::vector<Status> DB::MultiGet(const ReadOptions& options, const std::vector<Slice>& keys,
                                 std::vector<std::string>* values) {
  return get_all(*this, options, keys.size(), values,
                 [&](const ReadOptions& as_of, size_t i, std::string* value) {
                   return Get(as_of, keys[i], value);
                 });
}

std::vector<Status> DB::MultiGet(const ReadOptions& options,
                                 const std::vector<ColumnFamilyHandle*>& families,
                                 const std::vector<Slice>& keys, std::vector<std::string>* values) {
  if (families.size() != keys.size()) {
    values->resize(keys.size());
    return std::vector<Status>(keys.size(),
                               Status::InvalidArgument("MultiGet needs a map for each key"));
  }
  return get_all(*this, options, keys.size(), values,
                 [&](const ReadOptions& as_of, size_t i, std::string* value) {
                   return Get(as_of, families[i], keys[i], value);
                 });
}

Status DB::Put(const WriteOptions& options, const ColumnFamilyHandle* family, const Slice& key,
               const Slice& value) {
  return is_own_default(*this, family) ? Put(options, key, value)
                                       : WriteToMap(options, family, key, &value);
}

Status DB::Delete(const WriteOptions& options, const ColumnFamilyHandle* family, const Slice& key) {
  return is_own_default(*this, family) ? Delete(options, key)
                                       : WriteToMap(options, family, key, nullptr);
}

Status DB::Get(const ReadOptions& options, const ColumnFamilyHandle* family, const Slice& key,
               std::string* value) {
  return is_own_default(*this, family) ? Get(options, key, value)
                                       : GetFromMap(options, family, key, value);
}

Iterator* DB::NewIterator(const ReadOptions& options, const ColumnFamilyHandle* family) {
  return is_own_default(*this, family) ? NewIterator(options) : IterateOverMap(options, family);
}

Status DB::DeleteRange(const WriteOptions& options, const ColumnFamilyHandle* family,
                       const Slice& begin, const Slice& end) {
  return is_own_default(*this, family)
             ? DeleteRange(options, begin, end)
             : Transact(options, [&](Transaction& t) { return t.DeleteRange(family, begin, end); });
}

void DB::GetApproximateSizes(const ColumnFamilyHandle* family, const Range* range, int n,
                             uint64_t* sizes) {
  for (int i = 0; i < n; ++i) {
    is_own_default(*this, family) ? GetApproximateSizes(&range[i], 1, &sizes[i])
                                  : void(sizes[i] = ApproximateSizeInMap(family, range[i]));
  }
}

Status DB::DestroyColumnFamilyHandle(ColumnFamilyHandle* family) {
  if (family != nullptr && family == DefaultColumnFamily()) {
    return Status::InvalidArgument("the handle of the default map belongs to the database");
  }
  delete family;
  return Status::OK();
}

Status DB::CreateColumnFamily(const ColumnFamilyOptions& /*options*/, const std::string& /*name*/,
                              ColumnFamilyHandle** handle) {
  *handle = nullptr;
  return not_overridden("CreateColumnFamily");
}

Status DB::OpenColumnFamily(const std::string& /*name*/, bool /*create_if_missing*/,
                            ColumnFamilyHandle** handle) {
  *handle = nullptr;
  return not_overridden("OpenColumnFamily");
}

Status DB::OpenColumnFamily(const ReadOptions& /*options*/, const std::string& /*name*/,
                            ColumnFamilyHandle** handle) {
  *handle = nullptr;
  return not_overridden("OpenColumnFamily");
}

Status DB::ListColumnFamilies(const ReadOptions& /*options*/, std::vector<std::string>* /*names*/) {
  return not_overridden("ListColumnFamilies");
}

Status DB::DropColumnFamily(ColumnFamilyHandle* /*family*/) {
  return not_overridden("DropColumnFamily");
}

ColumnFamilyHandle* DB::DefaultColumnFamily() {
  return nullptr;
}

Status DB::WriteToMap(const WriteOptions& /*options*/, const ColumnFamilyHandle* /*family*/,
                      const Slice& /*key*/, const Slice* /*value*/) {
  return not_overridden("WriteToMap");
}

Status DB::GetFromMap(const ReadOptions& /*options*/, const ColumnFamilyHandle* /*family*/,
                      const Slice& /*key*/, std::string* /*value*/) {
  return not_overridden("GetFromMap");
}

Iterator* DB::IterateOverMap(const ReadOptions& /*options*/, const ColumnFamilyHandle* /*family*/) {
  return NewErrorIterator(not_overridden("IterateOverMap"));
}

uint64_t DB::ApproximateSizeInMap(const ColumnFamilyHandle* /*family*/, const Range& /*range*/) {
  return 0;
}

}  // namespace holdfast::db
