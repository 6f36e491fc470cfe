// SPDX-License-Identifier: Apache-2.0
//
// Questions about allocation.
#pragma once

#include "tests/careless.h"
#include "tests/engine/conformance.h"

namespace holdfast::conformance {

template <class H>
struct Node {
  static constexpr const char* kTypeName = "conformance.node";
  typename H::template Field<Node*> next{nullptr};
  typename H::template Field<uint64_t> payload[6];
};

/// The blocks of a list, for check().
template <class H>
auto nodes_of(const Node<H>* head) {
  return [head](const BlockVisitor& visit) {
    for (Node<H>* n = head->next; n != nullptr; n = n->next) {
      visit(n, sizeof(Node<H>));
    }
  };
}

template <class H>
void check_that_blocks_are_reused(H& heap, Node<H>* head) {
  uint64_t top = 0;
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 20; ++i) {
      heap.update([&] {
            for (int k = 0; k < 10; ++k) {
              auto* n = heap.template make<Node<H>>();
              n->next = head->next.load();
              head->next = n;
            }
          })
          .check();
    }
    ASSERT_TRUE(heap.check(nodes_of(head)).value().ok());
    const auto unused = heap.check().value().unused_bytes;
    if (round > 0) {
      EXPECT_EQ(unused, top) << "blocks are not reused";
    }
    top = unused;
    for (int i = 0; i < 200; ++i) {
      heap.update([&] {
            Node<H>* n = head->next;
            head->next = n->next.load();
            heap.destroy(n);
          })
          .check();
    }
    ASSERT_TRUE(heap.check(nodes_of(head)).value().ok());
  }
}

/// A rolled-back allocation returns the block to its list and restores its links.
template <class H>
void check_that_allocations_roll_back(H& heap, Node<H>* head) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_THROW(static_cast<void>(heap.update([&] {
                   for (int k = 0; k < 3; ++k) {
                     auto* n = heap.template make<Node<H>>();
                     n->next = reinterpret_cast<Node<H>*>(uintptr_t{0x1234567890});
                     for (auto& word : n->payload) {
                       word = ~uint64_t{0};
                     }
                   }
                   throw 1;
                 })),
                 int);
    ASSERT_TRUE(heap.check(nodes_of(head)).value().ok());
  }
}

/// A rolled-back free restores the block's content, even if the same transaction reused the block.
template <class H>
void check_that_frees_roll_back(H& heap, Node<H>* head) {
  heap.update([&] {
        head->next = heap.template make<Node<H>>();
        head->next->next = nullptr;
        for (auto& word : head->next->payload) {
          word = 7;
        }
      })
      .check();
  EXPECT_THROW(static_cast<void>(heap.update([&] {
                 heap.destroy(head->next.load());
                 head->next = nullptr;
                 for (int k = 0; k < 3; ++k) {
                   auto* n = heap.template make<Node<H>>();
                   for (auto& word : n->payload) {
                     word = ~uint64_t{0};
                   }
                 }
                 throw 1;
               })),
               int);
  heap.read([&] {
        for (const auto& word : head->next->payload) {
          EXPECT_EQ(word.load(), 7U);
        }
      })
      .check();
  ASSERT_TRUE(heap.check(nodes_of(head)).value().ok());
}

template <class W>
void freed_blocks_are_reused_and_nothing_leaks(W& w) {
  using H = typename W::H;
  auto& heap = w.heap();
  auto* head = heap.template root<Node<H>>("list").value();
  ASSERT_NO_FATAL_FAILURE(check_that_blocks_are_reused(heap, head));
  ASSERT_NO_FATAL_FAILURE(check_that_allocations_roll_back(heap, head));
  ASSERT_NO_FATAL_FAILURE(check_that_frees_roll_back(heap, head));
  // check() reports a leak.
  heap.update([&] { heap.template make<Node<H>>(); }).check();
  EXPECT_EQ(heap.check(nodes_of(head)).value().leaked_blocks, 1U);
  // Freeing a block with a wrong size fails before it changes anything.
  EXPECT_EQ(heap.update([&] { heap.deallocate(head, 4000); }).code(), Code::misuse);
}

/// The header of the chunk that a block lies in.
template <class H>
ChunkHeader<typename H::Engine>* chunk_of(H& heap, const void* block, size_t* offset) {
  auto* data = reinterpret_cast<std::byte*>(heap.superblock().base);
  const auto at = static_cast<size_t>(static_cast<const std::byte*>(block) - data);
  const size_t chunk = heap.superblock().chunk_bytes;
  *offset = at % chunk;
  return reinterpret_cast<ChunkHeader<typename H::Engine>*>(data + at / chunk * chunk);
}

template <class W>
void a_block_is_freed_once(W& w) {
  using H = typename W::H;
  auto& heap = w.heap();
  auto* c = cells(heap);
  const auto refused = [&](size_t bytes) {
    void* block = nullptr;
    heap.update([&] { block = H::allocate(bytes); }).check();
    // Within one transaction, which is rolled back as a whole.
    EXPECT_EQ(heap.update([&] {
                    c->cell[0].value += 1;
                    H::deallocate(block, bytes);
                    H::deallocate(block, bytes);
                  })
                  .code(),
              Code::misuse)
        << bytes;
    EXPECT_EQ(values(heap)[0], 0) << "the failed transaction left a trace";
    // In a later transaction.
    heap.update([&] { H::deallocate(block, bytes); }).check();
    EXPECT_EQ(heap.update([&] { H::deallocate(block, bytes); }).code(), Code::misuse) << bytes;
    void* again[2] = {};
    heap.update([&] {
          again[0] = H::allocate(bytes);
          again[1] = H::allocate(bytes);
        })
        .check();
    EXPECT_NE(again[0], again[1]);
    heap.update([&] {
          H::deallocate(again[0], bytes);
          H::deallocate(again[1], bytes);
        })
        .check();
    EXPECT_EQ(
        heap.update([&] { H::deallocate(static_cast<std::byte*>(block) + 16, bytes); }).code(),
        Code::misuse)
        << "the middle of a block";
  };
  for (const size_t bytes : {16, 48, 100, 300, 100'000}) {
    ASSERT_NO_FATAL_FAILURE(refused(bytes));
  }
  ASSERT_TRUE(heap.check().value().errors.empty());
  // check() compares the map with the lists.
  size_t offset = 0;
  auto* chunk = chunk_of(heap, c, &offset);
  const auto flip = [&] {
    heap.update([&] {
          auto& word = chunk->map_word(offset);
          word = word ^ chunk->map_bit(offset);
        })
        .check();
  };
  flip();
  EXPECT_FALSE(heap.check().value().errors.empty());
  flip();
  EXPECT_TRUE(heap.check().value().errors.empty());
}

template <class W>
void a_block_is_exchanged(W& w) {
  using H = typename W::H;
  auto& heap = w.heap();
  auto* c = cells(heap);
  const auto text_of = [&](void* block) {
    std::string text(3, ' ');
    heap.read([&] { H::Engine::load_range(text.data(), block, text.size()); }).check();
    return text;
  };
  void* block = nullptr;
  heap.update([&] {
        block = H::allocate(100);
        H::Engine::store_range(block, "old", 3);
      })
      .check();
  // The same block, whose old content a rollback restores.
  EXPECT_EQ(heap.update([&] {
                  void* const same = H::exchange(block, 100, 97);
                  EXPECT_EQ(same, block);
                  H::Engine::store_range(same, "new", 3);
                  throw Error(Status(Code::misuse, "roll back"));
                })
                .code(),
            Code::misuse);
  EXPECT_EQ(text_of(block), "old");
  heap.update([&] {
        EXPECT_EQ(H::exchange(block, 100, 97), block);
        H::Engine::store_range(block, "new", 3);
      })
      .check();
  EXPECT_EQ(text_of(block), "new");
  // Another class, and blocks with chunks of their own.
  void* other = nullptr;
  heap.update([&] { other = H::exchange(block, 97, 1000); }).check();
  EXPECT_NE(other, block);
  heap.update([&] { other = H::exchange(other, 1000, 50'000); }).check();
  heap.update([&] { other = H::exchange(other, 50'000, 100); }).check();
  // A block that is free, or that has another size, is refused as by a free.
  heap.update([&] { H::deallocate(other, 100); }).check();
  EXPECT_EQ(heap.update([&] { H::exchange(other, 100, 100); }).code(), Code::misuse);
  EXPECT_EQ(heap.update([&] {
                  c->cell[0].value += 1;
                  H::exchange(c, 4000, 4000);
                })
                .code(),
            Code::misuse);
  EXPECT_EQ(values(heap)[0], 0) << "the failed transaction left a trace";
  EXPECT_TRUE(heap.check().value().errors.empty());
}

template <class W>
void free_runs_are_merged(W& w) {
  using H = typename W::H;
  auto& heap = w.heap();
  auto* c = cells(heap);
  const size_t bytes = w.options().bytes / 10;
  const auto free_bytes = [&] {
    const HeapCheck found = heap.check().value();
    EXPECT_TRUE(found.errors.empty()) << found.errors.at(0);
    return found.free_bytes;
  };
  void* blocks[5] = {};
  const int orders[][5] = {{0, 2, 1, 3, 4}, {4, 3, 2, 1, 0}, {1, 3, 0, 4, 2}, {2, 1, 3, 0, 4}};
  for (const auto& order : orders) {
    heap.update([&] {
          c->cell[0].value += 1;
          for (void*& block : blocks) {
            block = H::allocate(bytes);
          }
        })
        .check();
    const size_t before = heap.superblock().data_bytes();
    for (const int i : order) {
      heap.update([&] { H::deallocate(blocks[i], bytes); }).check();
      free_bytes();
    }
    // The space of all five serves one block, without growth.
    heap.update([&] { blocks[0] = H::allocate(5 * bytes); }).check();
    EXPECT_EQ(heap.superblock().data_bytes(), before);
    free_bytes();
    // Half of a run stays free, and joins its neighbours later.
    heap.update([&] { H::deallocate(blocks[0], 5 * bytes); }).check();
    heap.update([&] {
          blocks[0] = H::allocate(2 * bytes);
          blocks[1] = H::allocate(bytes);
        })
        .check();
    heap.update([&] { H::deallocate(blocks[0], 2 * bytes); }).check();
    heap.update([&] { blocks[0] = H::allocate(bytes); }).check();
    free_bytes();
    heap.update([&] {
          H::deallocate(blocks[1], bytes);
          H::deallocate(blocks[0], bytes);
        })
        .check();
    free_bytes();
  }
}

/// The body runs again once the heap has grown, as if it had not swallowed the exception. When the
/// heap is full, nothing commits.
template <class W>
void a_swallowed_failure_to_allocate_commits_nothing(W& w) {
  using H = typename W::H;
  w.options().max_bytes = w.options().bytes * 4;
  auto& heap = w.heap();
  auto* c = cells(heap);
  const size_t before = heap.superblock().data_bytes();
  const size_t bytes = w.options().bytes / 8;
  int64_t made = 0;
  Status status;
  while (made < 100 && status.ok()) {
    void* block = nullptr;
    status = heap.update([&] {
      c->cell[0].value += 1;
      block = nullptr;
      careless([&] {
        block = made % 2 == 0 ? H::allocate(bytes) : H::exchange(H::allocate(100), 100, bytes);
      });
      c->cell[1].value += 1;
    });
    ASSERT_TRUE(!status.ok() || block != nullptr) << "committed without block " << made;
    made += status.ok() ? 1 : 0;
  }
  EXPECT_EQ(status.code(), Code::out_of_space) << status.to_string();
  EXPECT_GT(heap.superblock().data_bytes(), before);
  EXPECT_EQ(values(heap)[0], made);
  EXPECT_EQ(values(heap)[1], made);
  heap.update([&] { c->cell[0].value = 0; }).check();  // does not fail for the same reason
  expect_sound(heap);
}

template <class W>
void heaps_of_layout_1_still_work(W& w) {
  using H = typename W::H;
  auto& heap = w.heap();
  auto* header = reinterpret_cast<DataHeader<typename H::Engine>*>(heap.superblock().base);
  heap.update([&] { header->mark = kLayoutMark1; }).check();
  auto* head = heap.template root<Node<H>>("list").value();
  ASSERT_NO_FATAL_FAILURE(check_that_blocks_are_reused(heap, head));
  ASSERT_NO_FATAL_FAILURE(check_that_allocations_roll_back(heap, head));
  ASSERT_NO_FATAL_FAILURE(check_that_frees_roll_back(heap, head));
  void* blocks[3] = {};
  for (int turn = 0; turn < 3; ++turn) {
    heap.update([&] {
          for (void*& block : blocks) {
            block = H::allocate(w.options().bytes / 10);
          }
        })
        .check();
    heap.update([&] {
          for (void* block : blocks) {
            H::deallocate(block, w.options().bytes / 10);
          }
        })
        .check();
  }
  w.reopen();
  EXPECT_TRUE(w.heap().check().value().errors.empty());
}

}  // namespace holdfast::conformance
