// SPDX-License-Identifier: Apache-2.0
//
// The entry points of a peer's plug-in.
#pragma once

#include <string>

#include "holdfast/runner/db/store.h"

/// Defines a plug-in's two functions (holdfast/runner/db/store.h), for a store whose constructor
/// takes a path and a number of threads.
#define HOLDFAST_PEER(Type, version)                                                      \
  extern "C" __attribute__((visibility("default"))) holdfast::store_bench::Store*         \
  holdfast_peer_open(const std::string& path, int threads) {                              \
    return new Type(path, threads);                                                       \
  }                                                                                       \
  extern "C" __attribute__((visibility("default"))) const char* holdfast_peer_version() { \
    return version;                                                                       \
  }
