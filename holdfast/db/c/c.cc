// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/c.h"

#include <algorithm>
#include <vector>

#include "holdfast/db/c/c_objects.h"

using namespace holdfast::db;  // NOLINT(google-build-using-namespace): C has none

leveldb_t* leveldb_open(const leveldb_options_t* options, const char* name, char** errptr) {
  return made<leveldb_t, DB>(errptr, [&](DB** db) { return DB::Open(options->rep, name, db); });
}

void leveldb_close(leveldb_t* db) {
  delete db;
}

void leveldb_put(leveldb_t* db, const leveldb_writeoptions_t* options, const char* key,
                 size_t keylen, const char* val, size_t vallen, char** errptr) {
  failed(errptr,
         [&] { return db->rep->Put(options->rep, Slice(key, keylen), Slice(val, vallen)); });
}

void leveldb_delete(leveldb_t* db, const leveldb_writeoptions_t* options, const char* key,
                    size_t keylen, char** errptr) {
  failed(errptr, [&] { return db->rep->Delete(options->rep, Slice(key, keylen)); });
}

void leveldb_write(leveldb_t* db, const leveldb_writeoptions_t* options,
                   leveldb_writebatch_t* batch, char** errptr) {
  failed(errptr, [&] { return db->rep->Write(options->rep, &batch->rep); });
}

char* leveldb_get(leveldb_t* db, const leveldb_readoptions_t* options, const char* key,
                  size_t keylen, size_t* vallen, char** errptr) {
  return get_result(vallen, errptr, [&](std::string* value) {
    return db->rep->Get(options->rep, Slice(key, keylen), value);
  });
}

leveldb_iterator_t* leveldb_create_iterator(leveldb_t* db, const leveldb_readoptions_t* options) {
  return new leveldb_iterator_t{std::unique_ptr<Iterator>(db->rep->NewIterator(options->rep))};
}

const leveldb_snapshot_t* leveldb_create_snapshot(leveldb_t* db) {
  return new leveldb_snapshot_t{db->rep->GetSnapshot()};
}

void leveldb_release_snapshot(leveldb_t* db, const leveldb_snapshot_t* snapshot) {
  db->rep->ReleaseSnapshot(snapshot->rep);
  delete snapshot;
}

char* leveldb_property_value(leveldb_t* db, const char* propname) {
  std::string value;
  return db->rep->GetProperty(propname, &value) ? malloc_copy(value) : nullptr;
}

void leveldb_approximate_sizes(leveldb_t* db, int num_ranges, const char* const* range_start_key,
                               const size_t* range_start_key_len,
                               const char* const* range_limit_key,
                               const size_t* range_limit_key_len, uint64_t* sizes) {
  std::vector<Range> ranges;
  ranges.reserve(static_cast<size_t>(std::max(num_ranges, 0)));
  for (int i = 0; i < num_ranges; ++i) {
    ranges.emplace_back(Slice(range_start_key[i], range_start_key_len[i]),
                        Slice(range_limit_key[i], range_limit_key_len[i]));
  }
  db->rep->GetApproximateSizes(ranges.data(), num_ranges, sizes);
}

void leveldb_compact_range(leveldb_t* db, const char* start_key, size_t start_key_len,
                           const char* limit_key, size_t limit_key_len) {
  const Slice start(start_key, start_key == nullptr ? 0 : start_key_len);
  const Slice limit(limit_key, limit_key == nullptr ? 0 : limit_key_len);
  db->rep->CompactRange(start_key == nullptr ? nullptr : &start,
                        limit_key == nullptr ? nullptr : &limit);
}

void leveldb_destroy_db(const leveldb_options_t* options, const char* name, char** errptr) {
  failed(errptr, [&] { return DestroyDB(name, options->rep); });
}

void leveldb_repair_db(const leveldb_options_t* options, const char* name, char** errptr) {
  failed(errptr, [&] { return RepairDB(name, options->rep); });
}

void leveldb_iter_destroy(leveldb_iterator_t* iter) {
  delete iter;
}
uint8_t leveldb_iter_valid(const leveldb_iterator_t* iter) {
  return iter->rep->Valid() ? 1 : 0;
}
void leveldb_iter_seek_to_first(leveldb_iterator_t* iter) {
  iter->rep->SeekToFirst();
}
void leveldb_iter_seek_to_last(leveldb_iterator_t* iter) {
  iter->rep->SeekToLast();
}
void leveldb_iter_seek(leveldb_iterator_t* iter, const char* k, size_t klen) {
  iter->rep->Seek(Slice(k, klen));
}
void leveldb_iter_next(leveldb_iterator_t* iter) {
  iter->rep->Next();
}
void leveldb_iter_prev(leveldb_iterator_t* iter) {
  iter->rep->Prev();
}
const char* leveldb_iter_key(const leveldb_iterator_t* iter, size_t* klen) {
  const Slice key = iter->rep->key();
  *klen = key.size();
  return key.data();
}
const char* leveldb_iter_value(const leveldb_iterator_t* iter, size_t* vlen) {
  const Slice value = iter->rep->value();
  *vlen = value.size();
  return value.data();
}
uint8_t holdfast_iter_next_entry(leveldb_iterator_t* iter, const char** key, size_t* keylen,
                                 const char** val, size_t* vallen) {
  return step_entry(*iter->rep, &Iterator::NextEntry, key, keylen, val, vallen) ? 1 : 0;
}
uint8_t holdfast_iter_prev_entry(leveldb_iterator_t* iter, const char** key, size_t* keylen,
                                 const char** val, size_t* vallen) {
  return step_entry(*iter->rep, &Iterator::PrevEntry, key, keylen, val, vallen) ? 1 : 0;
}
void leveldb_iter_get_error(const leveldb_iterator_t* iter, char** errptr) {
  failed(errptr, [&] { return iter->rep->status(); });
}

leveldb_writebatch_t* leveldb_writebatch_create(void) {
  return new leveldb_writebatch_t;
}
void leveldb_writebatch_destroy(leveldb_writebatch_t* batch) {
  delete batch;
}
void leveldb_writebatch_clear(leveldb_writebatch_t* batch) {
  batch->rep.Clear();
}
void leveldb_writebatch_put(leveldb_writebatch_t* batch, const char* key, size_t klen,
                            const char* val, size_t vlen) {
  batch->rep.Put(Slice(key, klen), Slice(val, vlen));
}
void leveldb_writebatch_delete(leveldb_writebatch_t* batch, const char* key, size_t klen) {
  batch->rep.Delete(Slice(key, klen));
}
void leveldb_writebatch_append(leveldb_writebatch_t* destination,
                               const leveldb_writebatch_t* source) {
  destination->rep.Append(source->rep);
}
void leveldb_writebatch_iterate(const leveldb_writebatch_t* batch, void* state,
                                void (*put)(void*, const char*, size_t, const char*, size_t),
                                void (*deleted)(void*, const char*, size_t)) {
  struct Caller final : WriteBatch::Handler {
    void Put(const Slice& key, const Slice& value) override {
      put(state, key.data(), key.size(), value.data(), value.size());
    }
    void Delete(const Slice& key) override { deleted(state, key.data(), key.size()); }
    void* state;
    void (*put)(void*, const char*, size_t, const char*, size_t);
    void (*deleted)(void*, const char*, size_t);
  } caller;
  caller.state = state;
  caller.put = put;
  caller.deleted = deleted;
  static_cast<void>(batch->rep.Iterate(&caller));
}

void holdfast_multi_get(leveldb_t* db, const leveldb_readoptions_t* options, size_t num_keys,
                        const char* const* keys_list, const size_t* keys_list_sizes,
                        char** values_list, size_t* values_list_sizes, char** errs) {
  get_results(num_keys, values_list, values_list_sizes, errs, [&](auto* values) {
    return db->rep->MultiGet(options->rep, slices(num_keys, keys_list, keys_list_sizes), values);
  });
}
void holdfast_delete_range(leveldb_t* db, const leveldb_writeoptions_t* options, const char* begin,
                           size_t beginlen, const char* end, size_t endlen, char** errptr) {
  failed(errptr, [&] {
    return db->rep->DeleteRange(options->rep, Slice(begin, beginlen), Slice(end, endlen));
  });
}
void holdfast_db_sync(leveldb_t* db, char** errptr) {
  failed(errptr, [&] { return db->rep->Sync(); });
}
uint64_t holdfast_compact(leveldb_t* db, char** errptr) {
  uint64_t returned = 0;
  failed(errptr, [&] { return db->rep->Compact(&returned); });
  return returned;
}
void holdfast_checkpoint(leveldb_t* db, const char* file, char** errptr) {
  failed(errptr, [&] { return db->rep->Checkpoint(file); });
}
void holdfast_verify(leveldb_t* db, char** errptr) {
  failed(errptr, [&] { return db->rep->Verify(); });
}

holdfast_transaction_t* holdfast_transaction_begin(leveldb_t* db, char** errptr) {
  return made<holdfast_transaction_t, OptimisticTransaction>(
      errptr, [&](OptimisticTransaction** begun) {
        *begun = db->rep->BeginTransaction();
        return *begun != nullptr
                   ? Status::OK()
                   : Status::IOError("no transaction could begin; the database may have failed");
      });
}
void holdfast_transaction_destroy(holdfast_transaction_t* transaction) {
  delete transaction;
}
char* holdfast_transaction_get(holdfast_transaction_t* transaction, const char* key, size_t keylen,
                               size_t* vallen, char** errptr) {
  return get_result(vallen, errptr, [&](std::string* value) {
    return transaction->rep->Get(Slice(key, keylen), value);
  });
}
void holdfast_transaction_put(holdfast_transaction_t* transaction, const char* key, size_t keylen,
                              const char* val, size_t vallen) {
  transaction->rep->Put(Slice(key, keylen), Slice(val, vallen));
}
void holdfast_transaction_delete(holdfast_transaction_t* transaction, const char* key,
                                 size_t keylen) {
  transaction->rep->Delete(Slice(key, keylen));
}
void holdfast_transaction_delete_range(holdfast_transaction_t* transaction, const char* begin,
                                       size_t beginlen, const char* end, size_t endlen,
                                       char** errptr) {
  failed(errptr,
         [&] { return transaction->rep->DeleteRange(Slice(begin, beginlen), Slice(end, endlen)); });
}
leveldb_iterator_t* holdfast_transaction_create_iterator(holdfast_transaction_t* transaction) {
  return new leveldb_iterator_t{std::unique_ptr<Iterator>(transaction->rep->NewIterator())};
}
uint8_t holdfast_transaction_commit(holdfast_transaction_t* transaction, char** errptr) {
  bool committed = false;
  return !failed(errptr, [&] { return transaction->rep->Commit(&committed); }) && committed ? 1 : 0;
}

void leveldb_free(void* ptr) {
  std::free(ptr);
}
int leveldb_major_version(void) {
  return kMajorVersion;
}
int leveldb_minor_version(void) {
  return kMinorVersion;
}
