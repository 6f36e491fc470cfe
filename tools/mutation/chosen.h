// SPDX-License-Identifier: Apache-2.0
//
// Included by sources into which tools/mutate.py has written several mutants. The environment tells
// which of them acts in a process (none without it), and where to note which ones are reached.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace holdfast_mutants {

struct Choice {
  Choice() {
    if (const char* const number = std::getenv("HOLDFAST_MUTANT")) {
      mutant = static_cast<unsigned>(std::strtoul(number, nullptr, 10));
    }
    const char* const path = std::getenv("HOLDFAST_MUTANTS_REACHED");
    const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (file >= 0) {
      const auto bytes = static_cast<size_t>(lseek(file, 0, SEEK_END));
      void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      reached = mapped == MAP_FAILED ? nullptr : static_cast<volatile char*>(mapped);
      close(file);
    }
  }

  unsigned mutant = 0;               ///< its number; from 1
  volatile char* reached = nullptr;  ///< a byte of a shared file for each number
};

/// Does mutant `number` act in this process?
inline bool chosen(unsigned number) {
  static const Choice choice;
  if (choice.reached != nullptr) [[unlikely]] {
    choice.reached[number] = 1;
  }
  return choice.mutant == number;
}

}  // namespace holdfast_mutants
