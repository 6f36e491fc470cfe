// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/runner/db/store.h"

/// Defines a plug-in's two functions (store.h), for a store that is made of a path and a number of
/// threads.
#define HOLDFAST_PEER(Type, version)                                                      \
  extern "C" __attribute__((visibility("default"))) holdfast::store_bench::Store*         \
  holdfast_peer_open(const std::string& path, int threads) {                              \
    return new Type(path, threads);                                                       \
  }                                                                                       \
  extern "C" __attribute__((visibility("default"))) const char* holdfast_peer_version() { \
    return version;                                                                       \
  }
