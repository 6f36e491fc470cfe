// SPDX-License-Identifier: Apache-2.0
//
// The conformance suite: the promises of every engine, on both machines and in every persistence
// domain. Each question is a function template over a World, which makes heaps.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/heap/heap.h"

namespace holdfast::conformance {

// World W:
//   using H = Heap<...>;
//   H& heap();                         creates the heap at the first call, with options()
//   CreateOptions& options();          may be changed before the first call of heap()
//   void reopen();                     closes the heap and opens it again
//   void run(int n, f);                runs f(0) to f(n-1) on n threads of the machine
//   int threads()                      the number of threads for concurrent tests
//   int rounds()                       operations per thread in concurrent tests
//   int skew_rounds()                  attempts to provoke write skew
//   bool finds_skew()                  if the engine allows skew, an attempt must succeed
//   const Description& description();

template <class H>
struct Cells {
  static constexpr const char* kTypeName = "conformance.cells";
  static constexpr uint32_t kTypeVersion = 1;
  template <class T>
  using Field = typename H::template Field<T>;
  struct alignas(64) Cell {
    Field<int64_t> value{0};
  };
  Cell cell[16];
};

template <class H>
Cells<H>* cells(H& heap) {
  return heap.template root<Cells<H>>("cells").value();
}

template <class H>
std::vector<int64_t> values(H& heap) {
  auto* c = cells(heap);
  std::vector<int64_t> result;
  heap.read([&] {
        result.clear();
        for (auto& cell : c->cell) {
          result.push_back(cell.value);
        }
      })
      .check();
  return result;
}

template <class H>
void expect_sound(H& heap) {
  auto check = heap.check();
  ASSERT_TRUE(check.ok()) << check.status().to_string();
  for (const auto& error : check->errors) {
    ADD_FAILURE() << error;
  }
}

// ---- transactions -------------------------------------------------------------------------------

template <class W>
void returns_what_the_body_returns(W& w) {
  auto& heap = w.heap();
  auto* c = cells(heap);
  auto doubled = heap.update([&] {
    c->cell[0].value = 21;
    return c->cell[0].value * 2;
  });
  ASSERT_TRUE(doubled.ok()) << doubled.status().to_string();
  EXPECT_EQ(*doubled, 42);
  EXPECT_EQ(heap.read([&] { return c->cell[0].value.load(); }).value(), 21);
  EXPECT_TRUE(heap.update([&] {}).ok());
  EXPECT_TRUE(heap.read([&] {}).ok());
  // A failed Status rolls back.
  const Status refused = heap.update([&] {
    c->cell[0].value = 8;
    return Status(Code::not_found, "nothing there");
  });
  EXPECT_EQ(refused.code(), Code::not_found);
  EXPECT_EQ(heap.read([&] { return c->cell[0].value == 21 ? Status() : refused; }).to_string(),
            "ok");
  EXPECT_EQ(heap.read([&] { return refused; }).code(), Code::not_found);
  const Status failed = heap.update([&]() -> Status { throw Error(Status(Code::busy, "")); });
  EXPECT_EQ(failed.code(), Code::busy);
}

template <class W>
void survives_reopening(W& w) {
  {
    auto* c = cells(w.heap());
    for (int i = 0; i < 40; ++i) {
      w.heap().update([&] { c->cell[i % 16].value += i; }).check();
    }
  }
  const auto before = values(w.heap());
  w.reopen();
  EXPECT_EQ(values(w.heap()), before);
  w.reopen();
  EXPECT_EQ(values(w.heap()), before);
  expect_sound(w.heap());
}

template <class W>
void exception_rolls_back_and_propagates(W& w) {
  auto& heap = w.heap();
  auto* c = cells(heap);
  heap.update([&] { c->cell[1].value = 5; }).check();
  const auto before = heap.check().value();
  EXPECT_THROW(static_cast<void>(heap.update([&] {
                 c->cell[1].value = 6;
                 c->cell[2].value = 7;
                 c->cell[1].value = 8;
                 heap.template make<Cells<typename W::H>>();
                 throw std::runtime_error("no");
               })),
               std::runtime_error);
  EXPECT_EQ(values(heap)[1], 5);
  EXPECT_EQ(values(heap)[2], 0);
  EXPECT_EQ(heap.check().value().allocated_bytes, before.allocated_bytes);
  EXPECT_THROW(static_cast<void>(heap.read([&] { throw 7; })), int);
  heap.update([&] { c->cell[2].value = 1; }).check();
  w.reopen();
  EXPECT_EQ(values(w.heap())[1], 5);
  EXPECT_EQ(values(w.heap())[2], 1);
}

template <class W>
void library_errors_come_back_as_status(W& w) {
  auto& heap = w.heap();
  auto* c = cells(heap);
  const Status status = heap.update([&] {
    c->cell[0].value = 1;
    throw Error(Status(Code::not_found, "nothing there"));
  });
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_EQ(values(heap)[0], 0);
}

template <class W>
void nesting_is_flat(W& w) {
  auto& heap = w.heap();
  auto* c = cells(heap);
  heap.update([&] {
        c->cell[0].value = 1;
        heap.update([&] { c->cell[1].value = c->cell[0].value + 1; }).check();
        const auto seen = heap.read([&] { return c->cell[1].value.load(); });
        c->cell[2].value = seen.value() + 1;
      })
      .check();
  EXPECT_EQ(values(heap)[2], 3);
}

template <class W>
void update_inside_read_is_refused(W& w) {
  auto& heap = w.heap();
  auto* c = cells(heap);
  Status inner;
  heap.read([&] { inner = heap.update([&] { c->cell[0].value = 9; }); }).check();
  EXPECT_EQ(inner.code(), Code::misuse);
  EXPECT_EQ(values(heap)[0], 0);
}

template <class W>
void exception_leaving_a_nested_body_dooms_the_outer_one(W& w) {
  auto& heap = w.heap();
  auto* c = cells(heap);
  EXPECT_THROW(static_cast<void>(heap.update([&] {
                 c->cell[0].value = 1;
                 try {
                   static_cast<void>(heap.update([&] {
                     c->cell[1].value = 1;
                     throw std::logic_error("inner");
                   }));
                 } catch (const std::logic_error&) {
                   c->cell[2].value = 1;  // caught here, but half of it must not commit
                 }
               })),
               std::logic_error);
  EXPECT_EQ(values(heap), std::vector<int64_t>(16, 0));
}

template <class W>
void commits_and_exceptions_are_counted(W& w) {
  auto& heap = w.heap();
  auto* c = cells(heap);
  const Statistics before = heap.statistics();
  for (int i = 0; i < 3; ++i) {
    heap.update([&] { c->cell[0].value = i; }).check();
  }
  heap.update([] {}).check();
  for (const int cell : {0, 1}) {
    heap.read([&] { EXPECT_EQ(c->cell[cell].value.load(), cell == 0 ? 2 : 0); }).check();
  }
  for (const bool stores : {false, true}) {
    EXPECT_THROW(static_cast<void>(heap.update([&] {
                   if (stores) {
                     c->cell[0].value = 7;
                   }
                   throw std::logic_error("counted");
                 })),
                 std::logic_error);
  }
  EXPECT_THROW(static_cast<void>(heap.read([&] { throw std::logic_error("counted"); })),
               std::logic_error);
  const Statistics counted = heap.statistics() - before;
  EXPECT_EQ(counted.update_commits, 4U);
  EXPECT_EQ(counted.read_commits, 2U);
  EXPECT_EQ(counted.user_aborts, 3U);
}

template <class W>
void stray_stores_are_clear_errors(W& w) {
  auto& heap = w.heap();
  auto* c = cells(heap);
  try {
    c->cell[0].value = 1;
    FAIL() << "a store outside a transaction was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), Code::misuse);
    EXPECT_NE(error.status().message().find("update"), std::string::npos);
  }
  EXPECT_EQ(heap.read([&] { c->cell[0].value = 1; }).code(), Code::misuse);
  alignas(8) std::array<std::byte, 8> memory{};
  using Field = typename Cells<typename W::H>::template Field<int64_t>;
  auto* nowhere = reinterpret_cast<Field*>(memory.data());
  EXPECT_EQ(heap.update([&] { *nowhere = 1; }).code(), Code::misuse);
  EXPECT_THROW(heap.template make<Cells<typename W::H>>(), Error);
  EXPECT_EQ(values(heap)[0], 0);
}

// ---- roots and sizes ----------------------------------------------------------------------------

template <class H>
struct OtherCells : Cells<H> {
  static constexpr const char* kTypeName = "conformance.other";
};
template <class H>
struct NewCells : Cells<H> {
  static constexpr uint32_t kTypeVersion = 2;
};

template <class W>
void roots_know_their_type(W& w) {
  using H = typename W::H;
  auto& heap = w.heap();
  cells(heap);
  EXPECT_EQ(heap.template find_root<Cells<H>>("nothing").status().code(), Code::not_found);
  EXPECT_EQ(heap.template find_root<OtherCells<H>>("cells").status().code(), Code::type_mismatch);
  EXPECT_EQ(heap.template find_root<NewCells<H>>("cells").status().code(), Code::type_mismatch);
  auto migrated = heap.template find_root<NewCells<H>>(
      "cells", [&](void* old, uint64_t version, uint64_t bytes) {
        EXPECT_EQ(version, 1U);
        EXPECT_EQ(bytes, sizeof(Cells<H>));
        auto* from = static_cast<Cells<H>*>(old);
        auto* to = H::template make<NewCells<H>>();
        to->cell[3].value = from->cell[3].value + 33;
        H::destroy(from);
        return to;
      });
  ASSERT_TRUE(migrated.ok()) << migrated.status().to_string();
  w.reopen();
  auto* found = w.heap().template find_root<NewCells<H>>("cells").value();
  EXPECT_EQ(w.heap().read([&] { return found->cell[3].value.load(); }).value(), 33);
  EXPECT_EQ(w.heap().list_roots().size(), 1U);
  EXPECT_EQ(w.heap().template root<Cells<H>>(std::string(60, 'x')).status().code(),
            Code::invalid_argument);
  for (size_t i = 1; i < kRoots; ++i) {
    ASSERT_TRUE(w.heap().template root<Cells<H>>("r" + std::to_string(i)).ok()) << i;
  }
  EXPECT_EQ(w.heap().template root<Cells<H>>("one more").status().code(), Code::out_of_space);
  expect_sound(w.heap());
}

/// A trap: the table of roots has the objects of removed roots in its free entries.
template <class W>
void only_names_of_roots_find_them(W& w) {
  using H = typename W::H;
  auto& heap = w.heap();
  const std::string longest(47, 'x');
  auto* first = heap.template root<Cells<H>>(longest).value();
  auto* gone = heap.template root<Cells<H>>("gone").value();
  heap.update([&] {
        heap.remove_root("gone");
        H::destroy(gone);
      })
      .check();
  for (const std::string& name : {std::string(), longest + "x", std::string(60, 'x')}) {
    EXPECT_EQ(heap.template find_root<Cells<H>>(name).status().code(), Code::not_found) << name;
    EXPECT_EQ(heap.template root<Cells<H>>(name).status().code(), Code::invalid_argument) << name;
    heap.update([&] { heap.remove_root(name); }).check();
  }
  EXPECT_EQ(heap.template find_root<Cells<H>>("gone").status().code(), Code::not_found);
  EXPECT_EQ(heap.template find_root<Cells<H>>(longest).value(), first);
  EXPECT_EQ(heap.list_roots().size(), 1u);
  expect_sound(heap);
}

template <class W>
void the_heap_grows_and_says_when_it_is_full(W& w) {
  using H = typename W::H;
  w.options().max_bytes = w.options().bytes * 4;
  auto& heap = w.heap();
  auto* c = cells(heap);
  const size_t before = heap.superblock().data_bytes();
  std::vector<void*> blocks;
  const size_t block = w.options().bytes / 8;
  Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) {
    auto made = heap.update([&] {
      c->cell[0].value += 1;
      return H::allocate(block);
    });
    status = made.status();
    if (made) {
      blocks.push_back(*made);
    }
  }
  EXPECT_EQ(status.code(), Code::out_of_space) << status.to_string();
  EXPECT_GT(heap.superblock().data_bytes(), before);
  EXPECT_GT(blocks.size(), 16U);
  EXPECT_EQ(values(heap)[0], static_cast<int64_t>(blocks.size()))
      << "the failed transaction left a trace";
  w.reopen();
  EXPECT_EQ(values(w.heap())[0], static_cast<int64_t>(blocks.size()));
  w.heap().update([&] { H::deallocate(blocks[3], block); }).check();
  EXPECT_TRUE(w.heap().update([&] { H::allocate(block); }).ok()) << "freed space is not reused";
  EXPECT_EQ(w.heap().update([&] { H::allocate(size_t{1} << 50); }).code(), Code::out_of_space);
  expect_sound(w.heap());
}

template <class W>
void large_transactions_commit_or_refuse_clearly(W& w) {
  using H = typename W::H;
  auto& heap = w.heap();
  auto* c = cells(heap);
  const size_t words = w.options().bytes / 64;
  auto* array = static_cast<typename H::template Field<uint64_t>*>(
      heap.update([&] { return H::allocate(words * 8); }).value());
  const Status status = heap.update([&] {
    c->cell[0].value = 1;
    for (size_t i = 0; i < words; ++i) {
      array[i] = i * 3;
    }
  });
  if (status.ok()) {
    w.reopen();
    w.heap()
        .read([&] {
          for (size_t i = 0; i < words; ++i) {
            ASSERT_EQ(array[i].load(), i * 3);
          }
        })
        .check();
  } else {
    EXPECT_EQ(status.code(), Code::too_large) << status.to_string();
    EXPECT_EQ(values(heap)[0], 0);
    EXPECT_TRUE(heap.update([&] { c->cell[0].value = 2; }).ok());
  }
}

/// Gives the engine the smallest logs and tables that these questions can use.
template <class W>
void make_logs_small(W& w) {
  for (const OptionInfo& option : w.description().option_list()) {
    if (std::string(option.name) == "log_bytes") {
      w.options().options["log_bytes"] = "8192";
    } else if (std::string(option.name) == "records") {
      w.options().options["records"] = "64";
    }
  }
}

template <class H>
using Words = typename H::template Field<uint64_t>;

/// Stores to every other word, so that each has a record of its own.
template <class H>
void store_apart(Words<H>* words, size_t n, uint64_t value) {
  for (size_t i = 0; i < n; ++i) {
    words[2 * i] = value + i;
  }
}

template <class W>
void transactions_larger_than_the_log_commit_or_name_the_option(W& w) {
  using H = typename W::H;
  constexpr size_t kWords = 1024;
  make_logs_small(w);
  auto* c = cells(w.heap());
  auto* words =
      static_cast<Words<H>*>(w.heap().update([&] { return H::allocate(kWords * 16); }).value());
  const auto write = [&](uint64_t value) {
    return w.heap().update([&] {
      c->cell[0].value = static_cast<int64_t>(value);
      store_apart<H>(words, kWords, value);
    });
  };
  const Status status = write(1);
  if (w.description().any_size) {
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
  if (!status.ok()) {
    EXPECT_EQ(status.code(), Code::too_large) << status.to_string();
    EXPECT_EQ(values(w.heap())[0], 0);
    bool named = false;
    for (const OptionInfo& option : w.description().option_list()) {
      named = named || status.message().find(option.name) != std::string::npos;
    }
    EXPECT_TRUE(named) << status.message();
    EXPECT_TRUE(w.heap().update([&] { c->cell[0].value = 2; }).ok());
    return;
  }
  write(5).check();
  // Small updates follow the large one, and are not overwritten by its log.
  w.heap().update([&] { words[0] = 77; }).check();
  // A body that throws leaves nothing, also a large one.
  EXPECT_THROW(static_cast<void>(w.heap().update([&] {
                 store_apart<H>(words, kWords, 100);
                 throw std::runtime_error("no");
               })),
               std::runtime_error);
  // Nor does one that asks for impossible room, which a sum with the bytes of a log might overflow.
  EXPECT_EQ(w.heap()
                .update([&] {
                  store_apart<H>(words, kWords, 200);
                  store_apart<H>(words + 1, kWords, 200);
                  H::allocate(SIZE_MAX);
                })
                .code(),
            Code::out_of_space);
  w.reopen();
  w.heap()
      .read([&] {
        ASSERT_EQ(words[0].load(), 77u);
        for (size_t i = 1; i < kWords; ++i) {
          ASSERT_EQ(words[2 * i].load(), 5 + i);
        }
      })
      .check();
  expect_sound(w.heap());
}

/// A body that swallows the exceptions of its stores has committed each of them, or none.
template <class W>
void a_swallowed_failure_to_store_commits_nothing(W& w) {
  using H = typename W::H;
  constexpr size_t kWords = 1024;
  make_logs_small(w);
  auto& heap = w.heap();
  auto* words =
      static_cast<Words<H>*>(heap.update([&] { return H::allocate(kWords * 16); }).value());
  heap.update([&] { store_apart<H>(words, 1, 7); }).check();
  bool swallowed = false;
  const Status status = heap.update([&] {
    swallowed = false;
    for (size_t i = 0; i < kWords; ++i) {
      try {
        words[2 * i] = i + 1;
      } catch (...) {
        swallowed = true;
      }
    }
  });
  if (!status.ok()) {
    EXPECT_EQ(status.code(), Code::too_large) << status.to_string();
    EXPECT_EQ(heap.read([&] { return words[0].load(); }).value(), 7u);
  } else {
    EXPECT_FALSE(swallowed);
    for (size_t i = 0; i < kWords; ++i) {
      ASSERT_EQ(heap.read([&] { return words[2 * i].load(); }).value(), i + 1);
    }
  }
  // The next update does not fail for the same reason.
  heap.update([&] { store_apart<H>(words, 1, 9); }).check();
  EXPECT_EQ(heap.read([&] { return words[0].load(); }).value(), 9u);
}

/// A transaction that needs more data and a larger log than there are. When it is repeated, the
/// heap has room for both.
template <class W>
void a_heap_grows_for_a_large_transaction_once(W& w) {
  using H = typename W::H;
  if (!w.description().any_size) {
    return;
  }
  make_logs_small(w);
  constexpr size_t kBlocks = 40;
  constexpr size_t kBytes = 4096;
  w.options().bytes = 128 << 10;
  w.options().growth = 4096;
  auto* c = cells(w.heap());
  const size_t before = w.heap().superblock().data_bytes();
  std::array<Words<H>*, kBlocks> blocks{};
  int runs = 0;
  const auto make_blocks = [&](uint64_t value) {
    runs = 0;
    w.heap()
        .update([&] {
          ++runs;
          c->cell[1].value = static_cast<int64_t>(value);
          for (auto& block : blocks) {
            block = static_cast<Words<H>*>(H::allocate(kBytes));
            store_apart<H>(block, 32, value);
          }
        })
        .check();
  };
  const auto free_blocks = [&] {
    w.heap()
        .update([&] {
          for (auto* block : blocks) {
            H::deallocate(block, kBytes);
          }
        })
        .check();
  };
  make_blocks(1);
  const size_t grown = w.heap().superblock().data_bytes();
  EXPECT_GT(grown, before);
  EXPECT_LT(runs, 16) << "the heap grows in too many steps";
  for (uint64_t round = 2; round < 5; ++round) {
    free_blocks();
    make_blocks(round);
    EXPECT_LE(w.heap().superblock().data_bytes(), grown + (64 << 10)) << round;
  }
  w.reopen();
  EXPECT_EQ(values(w.heap())[1], 4);
  w.heap()
      .read([&] {
        for (auto* block : blocks) {
          ASSERT_EQ(block[2].load(), 5u);
        }
      })
      .check();
  free_blocks();
  expect_sound(w.heap());
}

/// One thread's updates take loans. The others allocate meanwhile, up to the end of the heap.
template <class W>
void large_transactions_run_beside_allocations(W& w) {
  using H = typename W::H;
  if (!w.description().any_size || w.threads() < 2) {
    return;
  }
  make_logs_small(w);
  constexpr size_t kWords = 600;
  // Copies of the whole heap take seconds on described machines.
  const uint64_t rounds = w.description().rewrites_heap ? 2 : 6;
  w.options().bytes = 128 << 10;
  w.options().growth = 4096;
  auto& heap = w.heap();
  auto* c = cells(heap);
  auto* words =
      static_cast<Words<H>*>(heap.update([&] { return H::allocate(kWords * 16); }).value());
  std::vector<std::vector<std::pair<Words<H>*, uint64_t>>> kept(static_cast<size_t>(w.threads()));
  w.run(w.threads(), [&](int number) {
    auto& own = kept[static_cast<size_t>(number)];
    for (uint64_t round = 1; round <= rounds; ++round) {
      if (number == 0) {
        heap.update([&] {
              c->cell[2].value = c->cell[2].value + 1;
              store_apart<H>(words, kWords, round);
            })
            .check();
        continue;
      }
      Words<H>* block = nullptr;
      const uint64_t value = round * 100 + static_cast<uint64_t>(number);
      heap.update([&] {
            block = static_cast<Words<H>*>(H::allocate(3000));
            for (size_t i = 0; i < 8; ++i) {
              block[40 * i] = value;
            }
          })
          .check();
      own.emplace_back(block, value);
    }
  });
  w.reopen();
  EXPECT_EQ(values(w.heap())[2], rounds);
  w.heap()
      .read([&] {
        for (size_t i = 0; i < kWords; ++i) {
          ASSERT_EQ(words[2 * i].load(), rounds + i);
        }
        for (const auto& own : kept) {
          for (const auto& [block, value] : own) {
            for (size_t i = 0; i < 8; ++i) {
              ASSERT_EQ(block[40 * i].load(), value);
            }
          }
        }
      })
      .check();
  expect_sound(w.heap());
}

}  // namespace holdfast::conformance
