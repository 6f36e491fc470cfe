// SPDX-License-Identifier: Apache-2.0
//
// Macros that tell with which sanitizer the program is compiled. g++ defines macros of its own;
// clang has __has_feature.
#pragma once

#if defined(__has_feature)
#define HOLDFAST_HAS_FEATURE(name) __has_feature(name)
#else
#define HOLDFAST_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || HOLDFAST_HAS_FEATURE(address_sanitizer)
#define HOLDFAST_ADDRESS_SANITIZER 1
#else
#define HOLDFAST_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || HOLDFAST_HAS_FEATURE(thread_sanitizer)
#define HOLDFAST_THREAD_SANITIZER 1
#else
#define HOLDFAST_THREAD_SANITIZER 0
#endif
