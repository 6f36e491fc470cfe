// SPDX-License-Identifier: Apache-2.0
//
// c.h's functions for named maps.
#include <algorithm>
#include <iterator>
#include <vector>

#include "holdfast/db/c.h"
#include "holdfast/db/c/c_objects.h"

using namespace holdfast::db;  // NOLINT(google-build-using-namespace): C has none

namespace {

ColumnFamilyHandle* family_of(const holdfast_map_t* map) {
  return map == nullptr ? nullptr : map->rep.get();
}

}  // namespace

holdfast_map_t* holdfast_db_open_map(leveldb_t* db, const char* name, uint8_t create_if_missing,
                                     char** errptr) {
  return made<holdfast_map_t, ColumnFamilyHandle>(errptr, [&](ColumnFamilyHandle** family) {
    return db->rep->OpenColumnFamily(name, create_if_missing != 0, family);
  });
}

void holdfast_db_close_map(holdfast_map_t* map) {
  delete map;
}

void holdfast_db_drop_map(leveldb_t* db, holdfast_map_t* map, char** errptr) {
  failed(errptr, [&] { return db->rep->DropColumnFamily(family_of(map)); });
}

char** holdfast_db_list_maps(leveldb_t* db, size_t* count, char** errptr) {
  char** copies = nullptr;
  *count = 0;
  const bool none = failed(errptr, [&] {
    std::vector<std::string> names;
    Status status = db->rep->ListColumnFamilies({}, &names);
    if (status.ok()) {
      copies = static_cast<char**>(allocated(names.size() * sizeof(char*)));
      for (; *count < names.size(); ++*count) {
        copies[*count] = malloc_copy(names[*count]);
      }
    }
    return status;
  });
  if (none) {
    holdfast_db_list_maps_destroy(copies, *count);
    *count = 0;
    return nullptr;
  }
  return copies;
}

void holdfast_db_list_maps_destroy(char** names, size_t count) {
  std::for_each(names, names + count, [](char* name) { std::free(name); });
  std::free(names);
}

uint32_t holdfast_db_map_id(const holdfast_map_t* map) {
  return map == nullptr ? 0 : map->rep->GetID();
}

void holdfast_db_put(leveldb_t* db, const leveldb_writeoptions_t* options,
                     const holdfast_map_t* map, const char* key, size_t keylen, const char* val,
                     size_t vallen, char** errptr) {
  failed(errptr, [&] {
    return db->rep->Put(options->rep, family_of(map), Slice(key, keylen), Slice(val, vallen));
  });
}

void holdfast_db_delete(leveldb_t* db, const leveldb_writeoptions_t* options,
                        const holdfast_map_t* map, const char* key, size_t keylen, char** errptr) {
  failed(errptr, [&] { return db->rep->Delete(options->rep, family_of(map), Slice(key, keylen)); });
}

void holdfast_db_delete_range(leveldb_t* db, const leveldb_writeoptions_t* options,
                              const holdfast_map_t* map, const char* begin, size_t beginlen,
                              const char* end, size_t endlen, char** errptr) {
  failed(errptr, [&] {
    return db->rep->DeleteRange(options->rep, family_of(map), Slice(begin, beginlen),
                                Slice(end, endlen));
  });
}

char* holdfast_db_get(leveldb_t* db, const leveldb_readoptions_t* options,
                      const holdfast_map_t* map, const char* key, size_t keylen, size_t* vallen,
                      char** errptr) {
  return get_result(vallen, errptr, [&](std::string* value) {
    return db->rep->Get(options->rep, family_of(map), Slice(key, keylen), value);
  });
}

void holdfast_db_multi_get(leveldb_t* db, const leveldb_readoptions_t* options,
                           const holdfast_map_t* const* maps, size_t num_keys,
                           const char* const* keys_list, const size_t* keys_list_sizes,
                           char** values_list, size_t* values_list_sizes, char** errs) {
  get_results(num_keys, values_list, values_list_sizes, errs, [&](auto* values) {
    std::vector<ColumnFamilyHandle*> families;
    families.reserve(num_keys);
    std::transform(maps, maps + num_keys, std::back_inserter(families), family_of);
    return db->rep->MultiGet(options->rep, families, slices(num_keys, keys_list, keys_list_sizes),
                             values);
  });
}

leveldb_iterator_t* holdfast_db_create_iterator(leveldb_t* db, const leveldb_readoptions_t* options,
                                                const holdfast_map_t* map) {
  return new leveldb_iterator_t{
      std::unique_ptr<Iterator>(db->rep->NewIterator(options->rep, family_of(map)))};
}

uint64_t holdfast_db_approximate_size(leveldb_t* db, const holdfast_map_t* map, const char* start,
                                      size_t startlen, const char* limit, size_t limitlen) {
  const Range range(Slice(start, startlen), Slice(limit, limitlen));
  uint64_t size = 0;
  db->rep->GetApproximateSizes(family_of(map), &range, 1, &size);
  return size;
}

void holdfast_writebatch_put(leveldb_writebatch_t* batch, const holdfast_map_t* map,
                             const char* key, size_t klen, const char* val, size_t vlen) {
  batch->rep.Put(family_of(map), Slice(key, klen), Slice(val, vlen));
}

void holdfast_writebatch_delete(leveldb_writebatch_t* batch, const holdfast_map_t* map,
                                const char* key, size_t klen) {
  batch->rep.Delete(family_of(map), Slice(key, klen));
}

void holdfast_writebatch_iterate(const leveldb_writebatch_t* batch, void* state,
                                 void (*put)(void*, uint32_t, const char*, size_t, const char*,
                                             size_t),
                                 void (*deleted)(void*, uint32_t, const char*, size_t)) {
  struct Caller final : WriteBatch::Handler {
    void Put(const Slice& key, const Slice& value) override {
      static_cast<void>(PutCF(0, key, value));
    }
    void Delete(const Slice& key) override { static_cast<void>(DeleteCF(0, key)); }
    Status PutCF(uint32_t id, const Slice& key, const Slice& value) override {
      put(state, id, key.data(), key.size(), value.data(), value.size());
      return Status::OK();
    }
    Status DeleteCF(uint32_t id, const Slice& key) override {
      deleted(state, id, key.data(), key.size());
      return Status::OK();
    }
    void* state;
    void (*put)(void*, uint32_t, const char*, size_t, const char*, size_t);
    void (*deleted)(void*, uint32_t, const char*, size_t);
  } caller;
  caller.state = state;
  caller.put = put;
  caller.deleted = deleted;
  static_cast<void>(batch->rep.Iterate(&caller));
}

char* holdfast_transaction_map_get(holdfast_transaction_t* transaction, const holdfast_map_t* map,
                                   const char* key, size_t keylen, size_t* vallen, char** errptr) {
  return get_result(vallen, errptr, [&](std::string* value) {
    return transaction->rep->Get(family_of(map), Slice(key, keylen), value);
  });
}

void holdfast_transaction_map_put(holdfast_transaction_t* transaction, const holdfast_map_t* map,
                                  const char* key, size_t keylen, const char* val, size_t vallen) {
  transaction->rep->Put(family_of(map), Slice(key, keylen), Slice(val, vallen));
}

void holdfast_transaction_map_delete(holdfast_transaction_t* transaction, const holdfast_map_t* map,
                                     const char* key, size_t keylen) {
  transaction->rep->Delete(family_of(map), Slice(key, keylen));
}

void holdfast_transaction_map_delete_range(holdfast_transaction_t* transaction,
                                           const holdfast_map_t* map, const char* begin,
                                           size_t beginlen, const char* end, size_t endlen,
                                           char** errptr) {
  failed(errptr, [&] {
    return transaction->rep->DeleteRange(family_of(map), Slice(begin, beginlen),
                                         Slice(end, endlen));
  });
}

leveldb_iterator_t* holdfast_transaction_map_create_iterator(holdfast_transaction_t* transaction,
                                                             const holdfast_map_t* map) {
  return new leveldb_iterator_t{
      std::unique_ptr<Iterator>(transaction->rep->NewIterator(family_of(map)))};
}
