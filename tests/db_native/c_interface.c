/* SPDX-License-Identifier: Apache-2.0

   Does the C interface do what LevelDB's does, for code that a C compiler compiles? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holdfast/db/c.h"

#define EXPECT(condition)                                                     \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)
#define EXPECT_OK(error) EXPECT(check_no_error(error))

void check_c_interface(void);

/* In the current folder, which is empty. */
static const char* const kName = "a.db";
static const char* const kCopy = "a.copy";

static int check_no_error(const char* error) {
  if (error != NULL) {
    fprintf(stderr, "%s\n", error);
  }
  return error == NULL;
}

static int is(char* got, size_t size, const char* expected) {
  const int same = expected == NULL ? got == NULL
                                    : got != NULL && size == strlen(expected) &&
                                          memcmp(got, expected, size) == 0;
  leveldb_free(got);
  return same;
}

static void expect_value(leveldb_t* db, const leveldb_readoptions_t* options, const char* key,
                         const char* expected) {
  char* error = NULL;
  size_t size = 99;
  char* const value = leveldb_get(db, options, key, strlen(key), &size, &error);
  EXPECT_OK(error);
  EXPECT(expected != NULL || size == 0);
  EXPECT(is(value, size, expected));
}

static void expect_property(leveldb_t* db, const char* name, const char* expected) {
  char* const value = leveldb_property_value(db, name);
  EXPECT(value != NULL && strcmp(value, expected) == 0);
  leveldb_free(value);
}

static void put_seen(void* state, const char* k, size_t klen, const char* v, size_t vlen) {
  *(int*)state += (int)(klen + vlen);
  EXPECT(k != NULL && v != NULL);
}
static void delete_seen(void* state, const char* k, size_t klen) {
  *(int*)state += 100 * (int)klen;
  EXPECT(k != NULL);
}

static int destroyed = 0;
static void destroy_state(void* state) {
  destroyed += *(int*)state;
}
static int compare_backwards(void* state, const char* a, size_t alen, const char* b, size_t blen) {
  const int order = memcmp(b, a, alen < blen ? alen : blen);
  EXPECT(*(int*)state == 7);
  return order != 0 ? order : (alen == blen ? 0 : (alen < blen ? 1 : -1));
}
static const char* name_backwards(void* state) {
  (void)state;
  return "test.Backwards";
}

static leveldb_options_t* make_options(void) {
  char* error = NULL;
  leveldb_options_t* const options = leveldb_options_create();
  leveldb_options_set_create_if_missing(options, 1);
  leveldb_options_set_write_buffer_size(options, 1 << 20);
  leveldb_options_set_compression(options, leveldb_snappy_compression);
  holdfast_options_set_sizes(options, 4 << 20, 64 << 20);
  holdfast_options_set_max_threads(options, 8);
  holdfast_options_set_domain(options, "nonsense", &error);
  EXPECT(error != NULL && strstr(error, "nonsense") != NULL);
  leveldb_free(error);
  error = NULL;
  holdfast_options_set_domain(options, "pmem", &error);
  EXPECT_OK(error);
  EXPECT(leveldb_open(options, kName, &error) == NULL);
  EXPECT(error != NULL && strstr(error, "option force") != NULL);
  leveldb_free(error);
  error = NULL;
  holdfast_options_set_force(options, 1);
  holdfast_options_set_journal_bytes(options, 1 << 20);
  EXPECT(leveldb_open(options, kName, &error) == NULL);
  EXPECT(error != NULL && strstr(error, "a journal is for domain file") != NULL);
  leveldb_free(error);
  error = NULL;
  holdfast_options_set_journal_bytes(options, 0);
  leveldb_t* const forced = leveldb_open(options, kName, &error);
  EXPECT_OK(error);
  char* const domain = leveldb_property_value(forced, "holdfast.domain");
  EXPECT(domain != NULL && strcmp(domain, "pmem (emulated)") == 0);
  leveldb_free(domain);
  leveldb_close(forced);
  leveldb_destroy_db(options, kName, &error);
  EXPECT_OK(error);
  holdfast_options_set_force(options, 0);
  holdfast_options_set_domain(options, "process", &error);
  EXPECT_OK(error);
  return options;
}

static void test_reading_and_writing(leveldb_t* db) {
  char* error = NULL;
  int seen = 0;
  leveldb_readoptions_t* const read = leveldb_readoptions_create();
  leveldb_writeoptions_t* const write = leveldb_writeoptions_create();
  leveldb_writebatch_t* const batch = leveldb_writebatch_create();
  leveldb_writebatch_t* const more = leveldb_writebatch_create();
  const leveldb_snapshot_t* snapshot;
  leveldb_writeoptions_set_sync(write, 0);
  expect_value(db, read, "foo", NULL);
  leveldb_put(db, write, "foo", 3, "hello", 5, &error);
  EXPECT_OK(error);
  expect_value(db, read, "foo", "hello");
  snapshot = leveldb_create_snapshot(db);
  leveldb_writebatch_put(batch, "box", 3, "c", 1);
  leveldb_writebatch_delete(batch, "foo", 3);
  leveldb_writebatch_put(more, "bar", 3, "b", 1);
  leveldb_writebatch_append(batch, more);
  leveldb_writebatch_iterate(batch, &seen, put_seen, delete_seen);
  EXPECT(seen == 4 + 300 + 4);
  leveldb_write(db, write, batch, &error);
  EXPECT_OK(error);
  leveldb_writebatch_clear(batch);
  leveldb_writebatch_iterate(batch, &seen, put_seen, delete_seen);
  EXPECT(seen == 4 + 300 + 4);
  leveldb_write(db, write, batch, &error);
  EXPECT_OK(error);
  expect_value(db, read, "foo", NULL);
  expect_value(db, read, "box", "c");
  leveldb_readoptions_set_snapshot(read, snapshot);
  expect_value(db, read, "foo", "hello");
  expect_value(db, read, "bar", NULL);
  leveldb_readoptions_set_snapshot(read, NULL);
  expect_property(db, "holdfast.open-snapshots", "1");
  leveldb_release_snapshot(db, snapshot);
  expect_property(db, "holdfast.open-snapshots", "0");
  leveldb_put(db, write, "foo", 3, "again", 5, &error);
  leveldb_delete(db, write, "foo", 3, &error);
  EXPECT_OK(error);
  expect_value(db, read, "foo", NULL);
  leveldb_writebatch_destroy(batch);
  leveldb_writebatch_destroy(more);
  leveldb_readoptions_destroy(read);
  leveldb_writeoptions_destroy(write);
}

static void expect_at(leveldb_iterator_t* iter, const char* key, const char* value) {
  size_t klen;
  size_t vlen;
  const char* k;
  const char* v;
  EXPECT(leveldb_iter_valid(iter) == 1);
  k = leveldb_iter_key(iter, &klen);
  v = leveldb_iter_value(iter, &vlen);
  EXPECT(klen == strlen(key) && memcmp(k, key, klen) == 0);
  EXPECT(vlen == strlen(value) && memcmp(v, value, vlen) == 0);
}

static void test_iterators(leveldb_t* db) {
  char* error = NULL;
  leveldb_readoptions_t* const read = leveldb_readoptions_create();
  leveldb_iterator_t* const iter = leveldb_create_iterator(db, read);
  EXPECT(!leveldb_iter_valid(iter));
  leveldb_iter_seek_to_first(iter);
  expect_at(iter, "bar", "b");
  const char* key = NULL;
  const char* value = NULL;
  size_t key_size = 0;
  size_t value_size = 0;
  EXPECT(holdfast_iter_next_entry(iter, &key, &key_size, &value, &value_size) == 1);
  EXPECT(key_size == 3 && memcmp(key, "box", 3) == 0 && value_size == 1 && *value == 'c');
  EXPECT(holdfast_iter_prev_entry(iter, &key, &key_size, &value, &value_size) == 1);
  EXPECT(key_size == 3 && memcmp(key, "bar", 3) == 0 && value_size == 1 && *value == 'b');
  EXPECT(!holdfast_iter_prev_entry(iter, &key, &key_size, &value, &value_size));
  EXPECT(memcmp(key, "bar", 3) == 0);
  leveldb_iter_seek_to_first(iter);
  leveldb_iter_next(iter);
  expect_at(iter, "box", "c");
  leveldb_iter_prev(iter);
  leveldb_iter_prev(iter);
  EXPECT(!leveldb_iter_valid(iter));
  leveldb_iter_seek_to_last(iter);
  expect_at(iter, "box", "c");
  leveldb_iter_seek(iter, "ba", 2);
  expect_at(iter, "bar", "b");
  leveldb_iter_get_error(iter, &error);
  EXPECT_OK(error);
  leveldb_iter_destroy(iter);
  leveldb_readoptions_destroy(read);
}

static void test_transactions(leveldb_t* db) {
  char* error = NULL;
  char* value;
  size_t size = 0;
  leveldb_readoptions_t* const read = leveldb_readoptions_create();
  leveldb_writeoptions_t* const write = leveldb_writeoptions_create();
  for (int late = 1; late >= 0; --late) {
    holdfast_transaction_t* const t = holdfast_transaction_begin(db, &error);
    EXPECT_OK(error);
    value = holdfast_transaction_get(t, "box", 3, &size, &error);
    EXPECT(is(value, size, "c"));
    value = holdfast_transaction_get(t, "none", 4, &size, &error);
    EXPECT(is(value, size, NULL));
    holdfast_transaction_put(t, "bag", 3, "d", 1);
    holdfast_transaction_delete(t, "box", 3);
    if (late) {
      leveldb_put(db, write, "box", 3, "c", 1, &error);
    }
    EXPECT(holdfast_transaction_commit(t, &error) == !late);
    EXPECT_OK(error);
    expect_value(db, read, "box", late ? "c" : NULL);
    expect_value(db, read, "bag", late ? NULL : "d");
    holdfast_transaction_destroy(t);
  }
  leveldb_readoptions_destroy(read);
  leveldb_writeoptions_destroy(write);
}

/* The database has "bag" and "bar". */
static void test_ranges(leveldb_t* db) {
  char* error = NULL;
  const char* keys[] = {"bar", "none", "bag"};
  const size_t lengths[] = {3, 4, 3};
  char unset[] = "";
  char* values[3];
  size_t sizes[3];
  char* errors[3] = {unset, unset, unset};
  leveldb_readoptions_t* const read = leveldb_readoptions_create();
  leveldb_writeoptions_t* const write = leveldb_writeoptions_create();
  holdfast_multi_get(db, read, 3, keys, lengths, values, sizes, errors);
  EXPECT(errors[0] == NULL && errors[1] == NULL && errors[2] == NULL);
  EXPECT(is(values[0], sizes[0], "b") && is(values[1], sizes[1], NULL) && sizes[1] == 0);
  EXPECT(is(values[2], sizes[2], "d"));

  holdfast_transaction_t* const t = holdfast_transaction_begin(db, &error);
  EXPECT_OK(error);
  holdfast_transaction_put(t, "car", 3, "own", 3);
  holdfast_transaction_delete_range(t, "bar", 3, "bb", 2, &error);
  EXPECT_OK(error);
  leveldb_iterator_t* iter = holdfast_transaction_create_iterator(t);
  leveldb_iter_seek_to_first(iter);
  expect_at(iter, "bag", "d");
  leveldb_iter_next(iter);
  expect_at(iter, "car", "own");
  leveldb_iter_destroy(iter);
  leveldb_put(db, write, "bat", 3, "c", 1, &error); /* in the range that the iterator crossed */
  EXPECT_OK(error);
  EXPECT(!holdfast_transaction_commit(t, &error));
  EXPECT_OK(error);
  holdfast_transaction_destroy(t);

  holdfast_readoptions_set_iterate_lower_bound(read, "bah", 3);
  holdfast_readoptions_set_iterate_upper_bound(read, "bas", 3);
  iter = leveldb_create_iterator(db, read);
  leveldb_iter_seek_to_first(iter);
  expect_at(iter, "bar", "b");
  leveldb_iter_next(iter);
  EXPECT(!leveldb_iter_valid(iter));
  leveldb_iter_destroy(iter);
  holdfast_readoptions_set_iterate_lower_bound(read, NULL, 0);
  iter = leveldb_create_iterator(db, read);
  leveldb_iter_seek_to_first(iter);
  expect_at(iter, "bag", "d");
  leveldb_iter_destroy(iter);

  holdfast_delete_range(db, write, "bas", 3, "bau", 3, &error);
  EXPECT_OK(error);
  expect_value(db, read, "bat", NULL);
  expect_value(db, read, "bar", "b");
  leveldb_readoptions_destroy(read);
  leveldb_writeoptions_destroy(write);
}

static void count_put(void* state, uint32_t map, const char* key, size_t klen, const char* value,
                      size_t vlen) {
  (void)key;
  (void)klen;
  (void)value;
  (void)vlen;
  ((int*)state)[map == 0 ? 0 : 1] += 1;
}

static void count_deletion(void* state, uint32_t map, const char* key, size_t klen) {
  (void)key;
  (void)klen;
  ((int*)state)[map == 0 ? 0 : 1] += 100;
}

static void test_maps(leveldb_t* db) {
  char* error = NULL;
  size_t length = 0;
  size_t count = 0;
  int counts[2] = {0, 0};
  leveldb_readoptions_t* const read = leveldb_readoptions_create();
  leveldb_writeoptions_t* const write = leveldb_writeoptions_create();
  EXPECT(holdfast_db_open_map(db, "users", 0, &error) == NULL);
  EXPECT(error != NULL && strstr(error, "no map 'users'") != NULL);
  leveldb_free(error);
  error = NULL;
  holdfast_map_t* const users = holdfast_db_open_map(db, "users", 1, &error);
  EXPECT_OK(error);
  EXPECT(holdfast_db_map_id(users) != 0 && holdfast_db_map_id(NULL) == 0);
  char** const names = holdfast_db_list_maps(db, &count, &error);
  EXPECT_OK(error);
  EXPECT(count == 2 && strcmp(names[0], "default") == 0 && strcmp(names[1], "users") == 0);
  holdfast_db_list_maps_destroy(names, count);

  holdfast_db_put(db, write, users, "bar", 3, "of users", 8, &error);
  holdfast_db_put(db, write, users, "gone", 4, "1", 1, &error);
  holdfast_db_put(db, write, users, "range", 5, "1", 1, &error);
  holdfast_db_delete(db, write, users, "gone", 4, &error);
  holdfast_db_delete_range(db, write, users, "r", 1, "s", 1, &error);
  EXPECT_OK(error);
  char* value = holdfast_db_get(db, read, users, "bar", 3, &length, &error);
  EXPECT_OK(error);
  EXPECT(is(value, length, "of users"));
  value = holdfast_db_get(db, read, NULL, "bar", 3, &length, &error);
  EXPECT_OK(error);
  EXPECT(is(value, length, "b"));
  const holdfast_map_t* maps[] = {users, NULL};
  const char* keys[] = {"bar", "bar"};
  const size_t lengths[] = {3, 3};
  char* values[2];
  size_t sizes[2];
  char* errors[2];
  holdfast_db_multi_get(db, read, maps, 2, keys, lengths, values, sizes, errors);
  EXPECT(errors[0] == NULL && errors[1] == NULL);
  EXPECT(is(values[0], sizes[0], "of users") && is(values[1], sizes[1], "b"));
  EXPECT(holdfast_db_approximate_size(db, users, "a", 1, "c", 1) > 0);
  EXPECT(holdfast_db_approximate_size(db, users, "x", 1, "z", 1) == 0);

  leveldb_writebatch_t* const batch = leveldb_writebatch_create();
  holdfast_writebatch_put(batch, users, "batch", 5, "2", 1);
  holdfast_writebatch_put(batch, NULL, "maps", 4, "3", 1);
  holdfast_writebatch_delete(batch, NULL, "maps", 4);
  holdfast_writebatch_delete(batch, users, "none", 4);
  holdfast_writebatch_iterate(batch, counts, count_put, count_deletion);
  EXPECT(counts[0] == 101 && counts[1] == 101);
  leveldb_write(db, write, batch, &error);
  EXPECT_OK(error);
  leveldb_writebatch_destroy(batch);

  holdfast_transaction_t* const t = holdfast_transaction_begin(db, &error);
  EXPECT_OK(error);
  value = holdfast_transaction_map_get(t, users, "batch", 5, &length, &error);
  EXPECT(is(value, length, "2"));
  holdfast_transaction_map_put(t, users, "own", 3, "4", 1);
  holdfast_transaction_map_put(t, users, "zero", 4, "5", 1);
  holdfast_transaction_map_delete(t, users, "bar", 3);
  holdfast_transaction_map_delete_range(t, users, "z", 1, "zz", 2, &error);
  EXPECT_OK(error);
  leveldb_iterator_t* iter = holdfast_transaction_map_create_iterator(t, users);
  leveldb_iter_seek_to_last(iter);
  expect_at(iter, "own", "4");
  leveldb_iter_destroy(iter);
  EXPECT(holdfast_transaction_commit(t, &error));
  EXPECT_OK(error);
  holdfast_transaction_destroy(t);
  iter = holdfast_db_create_iterator(db, read, users);
  leveldb_iter_seek_to_first(iter);
  expect_at(iter, "batch", "2");
  leveldb_iter_next(iter);
  expect_at(iter, "own", "4");
  leveldb_iter_next(iter);
  EXPECT(!leveldb_iter_valid(iter));
  leveldb_iter_destroy(iter);

  holdfast_db_drop_map(db, users, &error);
  EXPECT_OK(error);
  holdfast_db_put(db, write, users, "a", 1, "b", 1, &error);
  EXPECT(error != NULL && strstr(error, "has been dropped") != NULL);
  leveldb_free(error);
  error = NULL;
  EXPECT(holdfast_db_get(db, read, users, "a", 1, &length, &error) == NULL && length == 0);
  EXPECT(error != NULL && strstr(error, "has been dropped") != NULL);
  leveldb_free(error);
  error = NULL;
  iter = holdfast_db_create_iterator(db, read, users);
  leveldb_iter_get_error(iter, &error);
  EXPECT(error != NULL && strstr(error, "has been dropped") != NULL);
  leveldb_free(error);
  leveldb_iter_destroy(iter);
  holdfast_db_close_map(users);
  leveldb_writeoptions_destroy(write);
  leveldb_readoptions_destroy(read);
}

/* Changes the bytes wherever the file has them. */
static void change_bytes(const char* from, const char* to) {
  const size_t length = strlen(from);
  FILE* const file = fopen(kName, "r+b");
  EXPECT(file != NULL && fseek(file, 0, SEEK_END) == 0);
  const size_t bytes = (size_t)ftell(file);
  char* const content = malloc(bytes);
  rewind(file);
  EXPECT(fread(content, 1, bytes, file) == bytes);
  for (size_t at = 0; at + length <= bytes; ++at) {
    if (memcmp(content + at, from, length) == 0) {
      EXPECT(fseek(file, (long)at, SEEK_SET) == 0 && fwrite(to, 1, length, file) == length);
    }
  }
  EXPECT(fclose(file) == 0);
  free(content);
}

static void put_damaged(leveldb_t* db) {
  char* error = NULL;
  leveldb_writeoptions_t* const write = leveldb_writeoptions_create();
  leveldb_put(db, write, "sound key", 9, "v", 1, &error);
  holdfast_verify(db, &error);
  EXPECT_OK(error);
  change_bytes("sound key", "other key");
  holdfast_verify(db, &error);
  EXPECT(error != NULL && strstr(error, "Corruption") != NULL);
  leveldb_free(error);
  leveldb_writeoptions_destroy(write);
}

static void test_repair(const leveldb_options_t* options) {
  char* error = NULL;
  leveldb_repair_db(options, kName, &error);
  EXPECT(error != NULL && strstr(error, "Corruption") != NULL);
  leveldb_free(error);
  error = NULL;
  change_bytes("other key", "sound key");
  leveldb_repair_db(options, kName, &error);
  EXPECT_OK(error);
}

/* A child of the process cannot use the database. */
static void test_failures(leveldb_t* db) {
  int status = 0;
  const pid_t child = fork();
  EXPECT(child != -1);
  if (child == 0) {
    char* error = NULL;
    size_t count = 7;
    EXPECT(holdfast_transaction_begin(db, &error) == NULL && error != NULL);
    leveldb_free(error);
    error = NULL;
    EXPECT(holdfast_db_list_maps(db, &count, &error) == NULL && error != NULL && count == 0);
    leveldb_free(error);
    error = NULL;
    EXPECT(holdfast_compact(db, &error) == 0 && error != NULL);
    leveldb_free(error);
    leveldb_close(db);
    _exit(0);
  }
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_compaction(leveldb_t* db) {
  char* error = NULL;
  const size_t length = 400000;
  char* const value = calloc(length, 1);
  leveldb_writeoptions_t* const write = leveldb_writeoptions_create();
  leveldb_put(db, write, "large", 5, "1", 1, &error);
  leveldb_put(db, write, "large", 5, value, length, &error);
  EXPECT_OK(error);
  char* const old = leveldb_property_value(db, "holdfast.old-versions");
  EXPECT(old != NULL && strcmp(old, "0") != 0);
  leveldb_free(old);
  leveldb_compact_range(db, "a", 1, "b", 1); /* of the whole database */
  expect_property(db, "holdfast.old-versions", "0");
  leveldb_delete(db, write, "large", 5, &error);
  EXPECT_OK(error);
  EXPECT(holdfast_compact(db, &error) >= length / 2);
  EXPECT_OK(error);
  leveldb_writeoptions_destroy(write);
  free(value);
}

static void test_service(leveldb_t* db, const leveldb_options_t* options) {
  char* error = NULL;
  const char* starts[] = {"a", "bar"};
  const char* limits[] = {"b", "c"};
  const size_t lengths[] = {1, 3};
  const size_t ones[] = {1, 1};
  uint64_t sizes[2];
  char* property = leveldb_property_value(db, "nosuchprop");
  EXPECT(property == NULL);
  property = leveldb_property_value(db, "leveldb.stats");
  EXPECT(property != NULL && strstr(property, "engine undo") != NULL);
  leveldb_free(property);
  leveldb_compact_range(db, NULL, 0, NULL, 0);
  leveldb_approximate_sizes(db, 2, starts, lengths, limits, ones, sizes);
  EXPECT(sizes[0] == 0 && sizes[1] == 4);
  holdfast_verify(db, &error);
  EXPECT_OK(error);
  holdfast_checkpoint(db, kCopy, &error);
  EXPECT_OK(error);
  leveldb_destroy_db(options, kCopy, &error);
  EXPECT_OK(error);
  leveldb_destroy_db(options, kName, &error);
  EXPECT(error != NULL); /* it is open */
  holdfast_checkpoint(db, "/no such folder/copy", &error);
  EXPECT(error != NULL && strstr(error, "/no such folder") != NULL);
  leveldb_free(error);
}

static void test_comparators(leveldb_options_t* options) {
  char* error = NULL;
  int state = 7;
  leveldb_comparator_t* const comparator =
      leveldb_comparator_create(&state, destroy_state, compare_backwards, name_backwards);
  leveldb_writeoptions_t* const write = leveldb_writeoptions_create();
  leveldb_readoptions_t* const read = leveldb_readoptions_create();
  leveldb_t* db;
  leveldb_iterator_t* iter;
  leveldb_options_set_comparator(options, comparator);
  db = leveldb_open(options, kCopy, &error);
  EXPECT_OK(error);
  leveldb_put(db, write, "a", 1, "1", 1, &error);
  leveldb_put(db, write, "b", 1, "2", 1, &error);
  EXPECT_OK(error);
  iter = leveldb_create_iterator(db, read);
  leveldb_iter_seek_to_first(iter);
  expect_at(iter, "b", "2");
  leveldb_iter_destroy(iter);
  leveldb_close(db);
  leveldb_destroy_db(options, kCopy, &error);
  EXPECT_OK(error);
  leveldb_comparator_destroy(comparator);
  EXPECT(destroyed == 7);
  leveldb_writeoptions_destroy(write);
  leveldb_readoptions_destroy(read);
}

/* The default engine can lag. */
static void test_lag(leveldb_options_t* options) {
  char* error = NULL;
  const uint64_t hour = 3600000;
  leveldb_writeoptions_t* const later = leveldb_writeoptions_create();
  leveldb_writeoptions_set_sync(later, 0);
  holdfast_options_set_lag(options, 10, hour);
  leveldb_t* const db = leveldb_open(options, kCopy, &error);
  EXPECT_OK(error);
  expect_property(db, "holdfast.lag", "10");
  leveldb_put(db, later, "a", 1, "1", 1, &error);
  EXPECT_OK(error);
  expect_property(db, "holdfast.pending-writes", "1");
  holdfast_db_sync(db, &error);
  EXPECT_OK(error);
  expect_property(db, "holdfast.pending-writes", "0");
  leveldb_close(db);
  holdfast_options_set_lag(options, 10, 0);
  EXPECT(leveldb_open(options, kCopy, &error) == NULL);
  EXPECT(error != NULL && strstr(error, "lag_ms") != NULL);
  leveldb_free(error);
  error = NULL;
  holdfast_options_set_lag(options, 1024, 100);
  leveldb_destroy_db(options, kCopy, &error);
  EXPECT_OK(error);
  leveldb_writeoptions_destroy(later);
}

void check_c_interface(void) {
  char* error = NULL;
  leveldb_options_t* const options = make_options();
  leveldb_cache_t* const cache = leveldb_cache_create_lru(100000);
  leveldb_env_t* const env = leveldb_create_default_env();
  leveldb_filterpolicy_t* const policy = leveldb_filterpolicy_create_bloom(10);
  leveldb_t* db;
  leveldb_options_set_cache(options, cache);
  leveldb_options_set_env(options, env);
  char* const directory = leveldb_env_get_test_directory(env);
  EXPECT(directory != NULL && directory[0] == '/');
  leveldb_free(directory);
  leveldb_options_set_filter_policy(options, policy);
  holdfast_options_set_engine(options, "undo");
  db = leveldb_open(options, kName, &error);
  EXPECT_OK(error);
  EXPECT(leveldb_open(options, kName, &error) == NULL);
  EXPECT(error != NULL && strstr(error, "in use") != NULL);
  leveldb_free(error);
  error = NULL;
  test_reading_and_writing(db);
  test_iterators(db);
  test_transactions(db);
  test_maps(db);
  test_ranges(db);
  test_service(db, options);
  test_compaction(db);
  test_failures(db);
  put_damaged(db);
  leveldb_close(db);
  test_repair(options);
  holdfast_options_set_engine(options, "quadra");
  EXPECT(leveldb_open(options, kName, &error) == NULL);
  EXPECT(error != NULL && strstr(error, "has engine undo, not quadra") != NULL);
  leveldb_free(error);
  error = NULL;
  holdfast_options_set_engine(options, "");
  holdfast_options_set_max_threads(options, 20);
  holdfast_options_set_read_only(options, 1);
  db = leveldb_open(options, kName, &error);
  EXPECT_OK(error);
  leveldb_close(db);
  holdfast_options_set_read_only(options, 0);
  leveldb_destroy_db(options, kName, &error);
  EXPECT_OK(error);
  test_lag(options);
  test_comparators(options);
  EXPECT(leveldb_major_version() == 1 && leveldb_minor_version() > 0);
  leveldb_options_destroy(options);
  leveldb_cache_destroy(cache);
  leveldb_env_destroy(env);
  leveldb_filterpolicy_destroy(policy);
}
