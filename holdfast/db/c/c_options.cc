// SPDX-License-Identifier: Apache-2.0
//
// The options of c.h, and the objects that they refer to.
#include "holdfast/db/c/c_objects.h"

using namespace holdfast::db;  // NOLINT(google-build-using-namespace): C has none

struct leveldb_comparator_t final : Comparator {
  ~leveldb_comparator_t() override { destructor(state); }
  int Compare(const Slice& a, const Slice& b) const override {
    return compare(state, a.data(), a.size(), b.data(), b.size());
  }
  const char* Name() const override { return name(state); }
  void FindShortestSeparator(std::string* /*start*/, const Slice& /*limit*/) const override {}
  void FindShortSuccessor(std::string* /*key*/) const override {}

  void* state = nullptr;
  void (*destructor)(void*) = nullptr;
  int (*compare)(void*, const char*, size_t, const char*, size_t) = nullptr;
  const char* (*name)(void*) = nullptr;
};

struct leveldb_filterpolicy_t {
  ~leveldb_filterpolicy_t() {
    if (destructor != nullptr) {
      destructor(state);
    }
  }
  const FilterPolicy rep;  ///< the database never calls it, so the callbacks are dropped
  void* state = nullptr;
  void (*destructor)(void*) = nullptr;
};

leveldb_options_t* leveldb_options_create(void) {
  return new leveldb_options_t;
}
void leveldb_options_destroy(leveldb_options_t* options) {
  delete options;
}
void leveldb_options_set_comparator(leveldb_options_t* options, leveldb_comparator_t* comparator) {
  options->rep.comparator = comparator;
}
void leveldb_options_set_filter_policy(leveldb_options_t* options, leveldb_filterpolicy_t* policy) {
  options->rep.filter_policy = policy == nullptr ? nullptr : &policy->rep;
}
void leveldb_options_set_create_if_missing(leveldb_options_t* options, uint8_t value) {
  options->rep.create_if_missing = value != 0;
}
void leveldb_options_set_error_if_exists(leveldb_options_t* options, uint8_t value) {
  options->rep.error_if_exists = value != 0;
}
void leveldb_options_set_paranoid_checks(leveldb_options_t* options, uint8_t value) {
  options->rep.paranoid_checks = value != 0;
}
void leveldb_options_set_env(leveldb_options_t* options, leveldb_env_t* env) {
  options->rep.env = env == nullptr ? nullptr : env->rep;
}
void leveldb_options_set_info_log(leveldb_options_t* options, leveldb_logger_t* logger) {
  options->rep.info_log = logger == nullptr ? nullptr : logger->rep;
}
void leveldb_options_set_write_buffer_size(leveldb_options_t* options, size_t bytes) {
  options->rep.write_buffer_size = bytes;
}
void leveldb_options_set_max_open_files(leveldb_options_t* options, int n) {
  options->rep.max_open_files = n;
}
void leveldb_options_set_cache(leveldb_options_t* options, leveldb_cache_t* cache) {
  options->rep.block_cache = cache == nullptr ? nullptr : cache->rep.get();
}
void leveldb_options_set_block_size(leveldb_options_t* options, size_t bytes) {
  options->rep.block_size = bytes;
}
void leveldb_options_set_block_restart_interval(leveldb_options_t* options, int n) {
  options->rep.block_restart_interval = n;
}
void leveldb_options_set_max_file_size(leveldb_options_t* options, size_t bytes) {
  options->rep.max_file_size = bytes;
}
void leveldb_options_set_compression(leveldb_options_t* options, int compression) {
  options->rep.compression = static_cast<CompressionType>(compression);
}

leveldb_readoptions_t* leveldb_readoptions_create(void) {
  return new leveldb_readoptions_t;
}
void leveldb_readoptions_destroy(leveldb_readoptions_t* options) {
  delete options;
}
void leveldb_readoptions_set_verify_checksums(leveldb_readoptions_t* options, uint8_t value) {
  options->rep.verify_checksums = value != 0;
}
void leveldb_readoptions_set_fill_cache(leveldb_readoptions_t* options, uint8_t value) {
  options->rep.fill_cache = value != 0;
}
void leveldb_readoptions_set_snapshot(leveldb_readoptions_t* options,
                                      const leveldb_snapshot_t* snapshot) {
  options->rep.snapshot = snapshot == nullptr ? nullptr : snapshot->rep;
}

leveldb_writeoptions_t* leveldb_writeoptions_create(void) {
  return new leveldb_writeoptions_t;
}
void leveldb_writeoptions_destroy(leveldb_writeoptions_t* options) {
  delete options;
}
void leveldb_writeoptions_set_sync(leveldb_writeoptions_t* options, uint8_t value) {
  options->rep.sync = value != 0;
}

leveldb_comparator_t* leveldb_comparator_create(void* state, void (*destructor)(void*),
                                                int (*compare)(void*, const char*, size_t,
                                                               const char*, size_t),
                                                const char* (*name)(void*)) {
  auto* const comparator = new leveldb_comparator_t;
  comparator->state = state;
  comparator->destructor = destructor;
  comparator->compare = compare;
  comparator->name = name;
  return comparator;
}
void leveldb_comparator_destroy(leveldb_comparator_t* comparator) {
  delete comparator;
}

leveldb_filterpolicy_t* leveldb_filterpolicy_create(
    void* state, void (*destructor)(void*),
    char* (* /*create_filter*/)(void*, const char* const*, const size_t*, int, size_t*),
    uint8_t (* /*key_may_match*/)(void*, const char*, size_t, const char*, size_t),
    const char* (* /*name*/)(void*)) {
  auto* const policy = new leveldb_filterpolicy_t;
  policy->state = state;
  policy->destructor = destructor;
  return policy;
}
leveldb_filterpolicy_t* leveldb_filterpolicy_create_bloom(int /*bits_per_key*/) {
  return new leveldb_filterpolicy_t;
}
void leveldb_filterpolicy_destroy(leveldb_filterpolicy_t* policy) {
  delete policy;
}

leveldb_cache_t* leveldb_cache_create_lru(size_t capacity) {
  return new leveldb_cache_t{std::unique_ptr<Cache>(NewLRUCache(capacity))};
}
void leveldb_cache_destroy(leveldb_cache_t* cache) {
  delete cache;
}
leveldb_env_t* leveldb_create_default_env(void) {
  return new leveldb_env_t{Env::Default()};
}
void leveldb_env_destroy(leveldb_env_t* env) {
  delete env;
}
char* leveldb_env_get_test_directory(leveldb_env_t* env) {
  std::string path;
  return env->rep->GetTestDirectory(&path).ok() ? malloc_copy(path) : nullptr;
}

void holdfast_options_set_engine(leveldb_options_t* options, const char* name) {
  options->rep.engine = name;
}
void holdfast_options_set_engine_option(leveldb_options_t* options, const char* name,
                                        const char* value) {
  options->rep.engine_options[name] = value;
}
void holdfast_options_set_sizes(leveldb_options_t* options, size_t initial_bytes,
                                size_t max_bytes) {
  if (initial_bytes != 0) {
    options->rep.initial_bytes = initial_bytes;
  }
  options->rep.max_bytes = max_bytes;
}
void holdfast_options_set_journal_bytes(leveldb_options_t* options, size_t n) {
  options->rep.journal_bytes = n;
}
void holdfast_options_set_max_threads(leveldb_options_t* options, int n) {
  options->rep.max_threads = n;
}
void holdfast_options_set_lag(leveldb_options_t* options, uint64_t writes, uint64_t milliseconds) {
  options->rep.lag = writes;
  options->rep.lag_ms = milliseconds;
}
void holdfast_options_set_read_only(leveldb_options_t* options, uint8_t value) {
  options->rep.read_only = value != 0;
}
void holdfast_options_set_domain(leveldb_options_t* options, const char* name, char** errptr) {
  failed(errptr, [&] {
    auto domain = holdfast::parse_domain(name);
    if (domain) {
      options->rep.domain = *domain;
    }
    return translated(domain.status());
  });
}
void holdfast_options_set_force(leveldb_options_t* options, uint8_t value) {
  options->rep.force = value != 0;
}

void holdfast_readoptions_set_iterate_lower_bound(leveldb_readoptions_t* options, const char* key,
                                                  size_t keylen) {
  options->rep.iterate_lower_bound = options->lower.set(key, keylen);
}
void holdfast_readoptions_set_iterate_upper_bound(leveldb_readoptions_t* options, const char* key,
                                                  size_t keylen) {
  options->rep.iterate_upper_bound = options->upper.set(key, keylen);
}
