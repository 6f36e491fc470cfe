/* SPDX-License-Identifier: Apache-2.0

   HoldfastDB for C, with the names and conventions of LevelDB's c.h. A program written for LevelDB
   compiles with this include. docs/guide/store.md lists the differences.

   Errors. A char** errptr points to null or to a string from malloc. On failure the function frees
   that string and stores a new one, which the caller frees with leveldb_free. Without memory, such
   a function fails like this. A function without errptr ends a C program then (std::bad_alloc).

   Memory. The caller frees every char* result with leveldb_free. A const char* from an iterator
   belongs to the iterator and stays valid until the iterator moves.

   Booleans are uint8_t, 0 or 1. Durability and thread safety are those of the C++ classes
   (holdfast/db/db.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using, readability-identifier-naming): C, with LevelDB's names */
typedef struct leveldb_t leveldb_t;
typedef struct leveldb_cache_t leveldb_cache_t;
typedef struct leveldb_comparator_t leveldb_comparator_t;
typedef struct leveldb_env_t leveldb_env_t;
typedef struct leveldb_filelock_t leveldb_filelock_t;
typedef struct leveldb_filterpolicy_t leveldb_filterpolicy_t;
typedef struct leveldb_iterator_t leveldb_iterator_t;
typedef struct leveldb_logger_t leveldb_logger_t;
typedef struct leveldb_options_t leveldb_options_t;
typedef struct leveldb_randomfile_t leveldb_randomfile_t;
typedef struct leveldb_readoptions_t leveldb_readoptions_t;
typedef struct leveldb_seqfile_t leveldb_seqfile_t;
typedef struct leveldb_snapshot_t leveldb_snapshot_t;
typedef struct leveldb_writablefile_t leveldb_writablefile_t;
typedef struct leveldb_writebatch_t leveldb_writebatch_t;
typedef struct leveldb_writeoptions_t leveldb_writeoptions_t;
typedef struct holdfast_transaction_t holdfast_transaction_t;
typedef struct holdfast_map_t holdfast_map_t;
/* NOLINTEND(modernize-use-using, readability-identifier-naming) */

/* The database. */
leveldb_t* leveldb_open(const leveldb_options_t* options, const char* name, char** errptr);
void leveldb_close(leveldb_t* db);
void leveldb_put(leveldb_t* db, const leveldb_writeoptions_t* options, const char* key,
                 size_t keylen, const char* val, size_t vallen, char** errptr);
void leveldb_delete(leveldb_t* db, const leveldb_writeoptions_t* options, const char* key,
                    size_t keylen, char** errptr);
void leveldb_write(leveldb_t* db, const leveldb_writeoptions_t* options,
                   leveldb_writebatch_t* batch, char** errptr);
/* Returns null, without an error, if the key has no value. */
char* leveldb_get(leveldb_t* db, const leveldb_readoptions_t* options, const char* key,
                  size_t keylen, size_t* vallen, char** errptr);
leveldb_iterator_t* leveldb_create_iterator(leveldb_t* db, const leveldb_readoptions_t* options);
const leveldb_snapshot_t* leveldb_create_snapshot(leveldb_t* db);
void leveldb_release_snapshot(leveldb_t* db, const leveldb_snapshot_t* snapshot);
/* Returns null if there is no such property. */
char* leveldb_property_value(leveldb_t* db, const char* propname);
void leveldb_approximate_sizes(leveldb_t* db, int num_ranges, const char* const* range_start_key,
                               const size_t* range_start_key_len,
                               const char* const* range_limit_key,
                               const size_t* range_limit_key_len, uint64_t* sizes);
void leveldb_compact_range(leveldb_t* db, const char* start_key, size_t start_key_len,
                           const char* limit_key, size_t limit_key_len);
void leveldb_destroy_db(const leveldb_options_t* options, const char* name, char** errptr);
void leveldb_repair_db(const leveldb_options_t* options, const char* name, char** errptr);

/* Iterators. */
void leveldb_iter_destroy(leveldb_iterator_t* iter);
uint8_t leveldb_iter_valid(const leveldb_iterator_t* iter);
void leveldb_iter_seek_to_first(leveldb_iterator_t* iter);
void leveldb_iter_seek_to_last(leveldb_iterator_t* iter);
void leveldb_iter_seek(leveldb_iterator_t* iter, const char* k, size_t klen);
void leveldb_iter_next(leveldb_iterator_t* iter);
void leveldb_iter_prev(leveldb_iterator_t* iter);
const char* leveldb_iter_key(const leveldb_iterator_t* iter, size_t* klen);
const char* leveldb_iter_value(const leveldb_iterator_t* iter, size_t* vlen);
void leveldb_iter_get_error(const leveldb_iterator_t* iter, char** errptr);

/* Batches. */
leveldb_writebatch_t* leveldb_writebatch_create(void);
void leveldb_writebatch_destroy(leveldb_writebatch_t* batch);
void leveldb_writebatch_clear(leveldb_writebatch_t* batch);
void leveldb_writebatch_put(leveldb_writebatch_t* batch, const char* key, size_t klen,
                            const char* val, size_t vlen);
void leveldb_writebatch_delete(leveldb_writebatch_t* batch, const char* key, size_t klen);
void leveldb_writebatch_iterate(const leveldb_writebatch_t* batch, void* state,
                                void (*put)(void*, const char* k, size_t klen, const char* v,
                                            size_t vlen),
                                void (*deleted)(void*, const char* k, size_t klen));
void leveldb_writebatch_append(leveldb_writebatch_t* destination,
                               const leveldb_writebatch_t* source);

/* Options. The setters after paranoid_checks have no effect. */
leveldb_options_t* leveldb_options_create(void);
void leveldb_options_destroy(leveldb_options_t* options);
void leveldb_options_set_comparator(leveldb_options_t* options, leveldb_comparator_t* comparator);
void leveldb_options_set_create_if_missing(leveldb_options_t* options, uint8_t value);
void leveldb_options_set_error_if_exists(leveldb_options_t* options, uint8_t value);
void leveldb_options_set_paranoid_checks(leveldb_options_t* options, uint8_t value);
void leveldb_options_set_filter_policy(leveldb_options_t* options, leveldb_filterpolicy_t* policy);
void leveldb_options_set_env(leveldb_options_t* options, leveldb_env_t* env);
void leveldb_options_set_info_log(leveldb_options_t* options, leveldb_logger_t* logger);
void leveldb_options_set_write_buffer_size(leveldb_options_t* options, size_t bytes);
void leveldb_options_set_max_open_files(leveldb_options_t* options, int n);
void leveldb_options_set_cache(leveldb_options_t* options, leveldb_cache_t* cache);
void leveldb_options_set_block_size(leveldb_options_t* options, size_t bytes);
void leveldb_options_set_block_restart_interval(leveldb_options_t* options, int n);
void leveldb_options_set_max_file_size(leveldb_options_t* options, size_t bytes);
enum { leveldb_no_compression = 0, leveldb_snappy_compression = 1, leveldb_zstd_compression = 2 };
void leveldb_options_set_compression(leveldb_options_t* options, int compression);

leveldb_readoptions_t* leveldb_readoptions_create(void);
void leveldb_readoptions_destroy(leveldb_readoptions_t* options);
void leveldb_readoptions_set_verify_checksums(leveldb_readoptions_t* options, uint8_t value);
void leveldb_readoptions_set_fill_cache(leveldb_readoptions_t* options, uint8_t value);
void leveldb_readoptions_set_snapshot(leveldb_readoptions_t* options,
                                      const leveldb_snapshot_t* snapshot);
leveldb_writeoptions_t* leveldb_writeoptions_create(void);
void leveldb_writeoptions_destroy(leveldb_writeoptions_t* options);
void leveldb_writeoptions_set_sync(leveldb_writeoptions_t* options, uint8_t value);

/* Objects that options refer to. The database calls a comparator inside transactions
   (holdfast/db/comparator.h). It calls no filter policy, cache or environment. */
leveldb_comparator_t* leveldb_comparator_create(void* state, void (*destructor)(void*),
                                                int (*compare)(void*, const char* a, size_t alen,
                                                               const char* b, size_t blen),
                                                const char* (*name)(void*));
void leveldb_comparator_destroy(leveldb_comparator_t* comparator);
leveldb_filterpolicy_t* leveldb_filterpolicy_create(
    void* state, void (*destructor)(void*),
    char* (*create_filter)(void*, const char* const* key_array, const size_t* key_length_array,
                           int num_keys, size_t* filter_length),
    uint8_t (*key_may_match)(void*, const char* key, size_t length, const char* filter,
                             size_t filter_length),
    const char* (*name)(void*));
leveldb_filterpolicy_t* leveldb_filterpolicy_create_bloom(int bits_per_key);
void leveldb_filterpolicy_destroy(leveldb_filterpolicy_t* policy);
leveldb_cache_t* leveldb_cache_create_lru(size_t capacity);
void leveldb_cache_destroy(leveldb_cache_t* cache);
leveldb_env_t* leveldb_create_default_env(void);
void leveldb_env_destroy(leveldb_env_t* env);
/* Returns the path of a directory for tests, or null if none can be made. */
char* leveldb_env_get_test_directory(leveldb_env_t* env);

void leveldb_free(void* ptr);
/* The release of LevelDB whose interface this is. */
int leveldb_major_version(void);
int leveldb_minor_version(void);

/* Holdfast's own functions. holdfast/db/options.h and db.h describe the members of these names. */
void holdfast_options_set_engine(leveldb_options_t* options, const char* name);
void holdfast_options_set_engine_option(leveldb_options_t* options, const char* name,
                                        const char* value);
void holdfast_options_set_sizes(leveldb_options_t* options, size_t initial_bytes, size_t max_bytes);
void holdfast_options_set_journal_bytes(leveldb_options_t* options, size_t n);
void holdfast_options_set_max_threads(leveldb_options_t* options, int n);
/* Limits of writes without sync (Options::lag and lag_ms). */
void holdfast_options_set_lag(leveldb_options_t* options, uint64_t writes, uint64_t milliseconds);
void holdfast_options_set_read_only(leveldb_options_t* options, uint8_t value);
/* `name` is process, file, pmem or eadr. */
void holdfast_options_set_domain(leveldb_options_t* options, const char* name, char** errptr);
void holdfast_options_set_force(leveldb_options_t* options, uint8_t value);
/* Move the iterator and return its new entry in one call. Return 0, and store nothing, past the
   last entry in that direction. */
uint8_t holdfast_iter_next_entry(leveldb_iterator_t* iter, const char** key, size_t* keylen,
                                 const char** val, size_t* vallen);
uint8_t holdfast_iter_prev_entry(leveldb_iterator_t* iter, const char** key, size_t* keylen,
                                 const char** val, size_t* vallen);
/* The bounds of iterators: the first key, and the end behind the last one. Null: no limit. */
void holdfast_readoptions_set_iterate_lower_bound(leveldb_readoptions_t* options, const char* key,
                                                  size_t keylen);
void holdfast_readoptions_set_iterate_upper_bound(leveldb_readoptions_t* options, const char* key,
                                                  size_t keylen);
/* Gets num_keys values from one state. The caller provides arrays of that size for the results. A
   value is null, without an error, if its key has no value. The caller frees each value and each
   error with leveldb_free. */
void holdfast_multi_get(leveldb_t* db, const leveldb_readoptions_t* options, size_t num_keys,
                        const char* const* keys_list, const size_t* keys_list_sizes,
                        char** values_list, size_t* values_list_sizes, char** errs);
/* Deletes the keys from `begin`, inclusive, to `end`, exclusive, as one transaction. */
void holdfast_delete_range(leveldb_t* db, const leveldb_writeoptions_t* options, const char* begin,
                           size_t beginlen, const char* end, size_t endlen, char** errptr);
/* Returns when every write that had returned before is durable (DB::Sync). */
void holdfast_db_sync(leveldb_t* db, char** errptr);
/* Frees old versions, and gives unused space back to the file system. Returns the bytes. */
uint64_t holdfast_compact(leveldb_t* db, char** errptr);
void holdfast_checkpoint(leveldb_t* db, const char* file, char** errptr);
void holdfast_verify(leveldb_t* db, char** errptr);

/* A transaction over several keys (OptimisticTransaction in holdfast/db/transaction.h). Begin
   returns null on failure. The caller destroys the transaction, committed or not, before closing
   the database. */
holdfast_transaction_t* holdfast_transaction_begin(leveldb_t* db, char** errptr);
void holdfast_transaction_destroy(holdfast_transaction_t* transaction);
char* holdfast_transaction_get(holdfast_transaction_t* transaction, const char* key, size_t keylen,
                               size_t* vallen, char** errptr);
void holdfast_transaction_put(holdfast_transaction_t* transaction, const char* key, size_t keylen,
                              const char* val, size_t vallen);
void holdfast_transaction_delete(holdfast_transaction_t* transaction, const char* key,
                                 size_t keylen);
void holdfast_transaction_delete_range(holdfast_transaction_t* transaction, const char* begin,
                                       size_t beginlen, const char* end, size_t endlen,
                                       char** errptr);
/* The iterator shows the transaction's own writes. Destroy it before the transaction. */
leveldb_iterator_t* holdfast_transaction_create_iterator(holdfast_transaction_t* transaction);
/* Returns 1 if the transaction is committed and durable. Returns 0 without an error if another
   transaction has changed what was read; begin a new transaction then. */
uint8_t holdfast_transaction_commit(holdfast_transaction_t* transaction, char** errptr);

/* Named maps (ColumnFamilyHandle in holdfast/db/column_family.h, and DB::OpenColumnFamily). Each is
   an ordered map of its own in the database's file. A null map stands for the default map. */

/* Returns the map of this name, or null on failure. If there is none, creates it, or fails if
   create_if_missing is 0. */
holdfast_map_t* holdfast_db_open_map(leveldb_t* db, const char* name, uint8_t create_if_missing,
                                     char** errptr);
/* Frees the map's handle, before or after the database is closed. The map stays. */
void holdfast_db_close_map(holdfast_map_t* map);
/* Removes the map and its entries. Close its handle, too. */
void holdfast_db_drop_map(leveldb_t* db, holdfast_map_t* map, char** errptr);
/* Returns the names of all maps, "default" first, and stores their number. Free them with
   holdfast_db_list_maps_destroy. */
char** holdfast_db_list_maps(leveldb_t* db, size_t* count, char** errptr);
void holdfast_db_list_maps_destroy(char** names, size_t count);
/* Returns the map's number, which records of a batch have; 0: the default map. */
uint32_t holdfast_db_map_id(const holdfast_map_t* map);

void holdfast_db_put(leveldb_t* db, const leveldb_writeoptions_t* options,
                     const holdfast_map_t* map, const char* key, size_t keylen, const char* val,
                     size_t vallen, char** errptr);
void holdfast_db_delete(leveldb_t* db, const leveldb_writeoptions_t* options,
                        const holdfast_map_t* map, const char* key, size_t keylen, char** errptr);
void holdfast_db_delete_range(leveldb_t* db, const leveldb_writeoptions_t* options,
                              const holdfast_map_t* map, const char* begin, size_t beginlen,
                              const char* end, size_t endlen, char** errptr);
char* holdfast_db_get(leveldb_t* db, const leveldb_readoptions_t* options,
                      const holdfast_map_t* map, const char* key, size_t keylen, size_t* vallen,
                      char** errptr);
/* Like holdfast_multi_get; `maps` has the map of each key. */
void holdfast_db_multi_get(leveldb_t* db, const leveldb_readoptions_t* options,
                           const holdfast_map_t* const* maps, size_t num_keys,
                           const char* const* keys_list, const size_t* keys_list_sizes,
                           char** values_list, size_t* values_list_sizes, char** errs);
leveldb_iterator_t* holdfast_db_create_iterator(leveldb_t* db, const leveldb_readoptions_t* options,
                                                const holdfast_map_t* map);
uint64_t holdfast_db_approximate_size(leveldb_t* db, const holdfast_map_t* map, const char* start,
                                      size_t startlen, const char* limit, size_t limitlen);
void holdfast_writebatch_put(leveldb_writebatch_t* batch, const holdfast_map_t* map,
                             const char* key, size_t klen, const char* val, size_t vlen);
void holdfast_writebatch_delete(leveldb_writebatch_t* batch, const holdfast_map_t* map,
                                const char* key, size_t klen);
/* Calls the functions for the records of all maps, with the map's number.
   leveldb_writebatch_iterate ends at the first record of a named map. */
void holdfast_writebatch_iterate(const leveldb_writebatch_t* batch, void* state,
                                 void (*put)(void*, uint32_t map, const char* k, size_t klen,
                                             const char* v, size_t vlen),
                                 void (*deleted)(void*, uint32_t map, const char* k, size_t klen));
char* holdfast_transaction_map_get(holdfast_transaction_t* transaction, const holdfast_map_t* map,
                                   const char* key, size_t keylen, size_t* vallen, char** errptr);
void holdfast_transaction_map_put(holdfast_transaction_t* transaction, const holdfast_map_t* map,
                                  const char* key, size_t keylen, const char* val, size_t vallen);
void holdfast_transaction_map_delete(holdfast_transaction_t* transaction, const holdfast_map_t* map,
                                     const char* key, size_t keylen);
void holdfast_transaction_map_delete_range(holdfast_transaction_t* transaction,
                                           const holdfast_map_t* map, const char* begin,
                                           size_t beginlen, const char* end, size_t endlen,
                                           char** errptr);
leveldb_iterator_t* holdfast_transaction_map_create_iterator(holdfast_transaction_t* transaction,
                                                             const holdfast_map_t* map);

#ifdef __cplusplus
}
#endif
