// SPDX-License-Identifier: Apache-2.0
//
// The questions of the conformance suite that need several threads.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "holdfast/base/random.h"
#include "tests/careless.h"
#include "tests/engine/conformance.h"
#include "tests/engine/conformance_allocation.h"

namespace holdfast::conformance {

template <class W>
void increments_are_not_lost(W& w) {
  auto& heap = w.heap();
  auto* c = cells(heap);
  w.run(w.threads(), [&](int thread) {
    for (int i = 0; i < w.rounds(); ++i) {
      heap.update([&] {
            c->cell[0].value += 1;
            c->cell[1 + thread % 8].value += 1;
          })
          .check();
    }
  });
  EXPECT_EQ(values(heap)[0], w.threads() * w.rounds());
  w.reopen();
  EXPECT_EQ(values(w.heap())[0], w.threads() * w.rounds());
}

template <class W>
void readers_see_whole_transactions(W& w) {
  auto& heap = w.heap();
  auto* c = cells(heap);
  w.run(w.threads(), [&](int thread) {
    Random random(static_cast<uint64_t>(thread) + 1);
    for (int i = 0; i < w.rounds(); ++i) {
      if (thread % 2 == 0) {
        const auto from = random.below(16);
        const auto to = random.below(16);
        heap.update([&] {
              c->cell[from].value -= 3;
              c->cell[to].value += 3;
            })
            .check();
      } else {
        int64_t total = -1;
        heap.read([&] {
              total = 0;
              for (auto& cell : c->cell) {
                total += cell.value;
              }
            })
            .check();
        ASSERT_EQ(total, 0) << "thread " << thread << " round " << i;
      }
    }
  });
}

template <class W>
void updates_see_whole_transactions(W& w) {
  // Transactions that will abort must not see half of a transaction either. That is opacity, and
  // snapshot isolation requires it, too.
  auto& heap = w.heap();
  auto* c = cells(heap);
  w.run(w.threads(), [&](int thread) {
    for (int i = 0; i < w.rounds(); ++i) {
      heap.update([&] {
            const int64_t a = c->cell[2].value;
            const int64_t b = c->cell[3].value;
            ASSERT_EQ(a, b) << "thread " << thread << " round " << i;
            c->cell[2].value = a + 1;
            c->cell[3].value = b + 1;
          })
          .check();
    }
  });
  EXPECT_EQ(values(heap)[2], w.threads() * w.rounds());
}

template <class W>
void a_swallowed_abort_is_retried_all_the_same(W& w) {
  auto& heap = w.heap();
  auto* c = cells(heap);
  w.run(w.threads(), [&](int) {
    for (int i = 0; i < w.rounds(); ++i) {
      heap.update([&] {
            careless([&] {
              c->cell[0].value += 1;
              c->cell[1].value += 1;
            });
            careless([&] { c->cell[2].value += 1; });
          })
          .check();
    }
  });
  const auto v = values(heap);
  EXPECT_EQ(v[0], w.threads() * w.rounds());
  EXPECT_EQ(v[1], w.threads() * w.rounds());
  EXPECT_EQ(v[2], w.threads() * w.rounds());
}

template <class W>
void each_exception_reaches_its_own_caller(W& w) {
  auto& heap = w.heap();
  auto* c = cells(heap);
  w.run(w.threads(), [&](int thread) {
    for (int i = 0; i < w.rounds(); ++i) {
      const bool throws = (thread + i) % 3 == 0;
      try {
        heap.update([&] {
              c->cell[0].value += 1;
              c->cell[1 + thread % 8].value += 1;
              if (throws) {
                throw std::pair(thread, i);
              }
            })
            .check();
        EXPECT_FALSE(throws);
      } catch (const std::pair<int, int>& mine) {
        EXPECT_EQ(mine, std::pair(thread, i));
      }
    }
  });
  int64_t good = 0;
  for (int thread = 0; thread < w.threads(); ++thread) {
    for (int i = 0; i < w.rounds(); ++i) {
      good += (thread + i) % 3 != 0;
    }
  }
  const auto v = values(heap);
  EXPECT_EQ(v[0], good) << "a thrower's store survived, or another body of its batch was lost";
  w.reopen();
  EXPECT_EQ(values(w.heap()), v);
}

template <class W>
void parallel_allocation_is_sound(W& w) {
  using H = typename W::H;
  auto& heap = w.heap();
  auto* head = heap.template root<Node<H>>("list").value();
  auto* c = cells(heap);
  w.run(w.threads(), [&](int thread) {
    Random random(static_cast<uint64_t>(thread) + 77);
    for (int i = 0; i < w.rounds(); ++i) {
      const bool push = random.below(5) < 3;
      heap.update([&] {
            if (push) {
              auto* n = heap.template make<Node<H>>();
              n->next = head->next.load();
              head->next = n;
              c->cell[0].value += 1;
            } else if (Node<H>* n = head->next) {
              head->next = n->next.load();
              heap.destroy(n);
              c->cell[0].value -= 1;
            }
          })
          .check();
    }
  });
  int64_t length = 0;
  auto check = heap.check([&](const BlockVisitor& visit) {
    length = 0;
    for (Node<H>* n = head->next; n != nullptr; n = n->next) {
      visit(n, sizeof(Node<H>));
      ++length;
    }
  });
  EXPECT_EQ(length, values(heap)[0]);
  for (const auto& error : check.value().errors) {
    ADD_FAILURE() << error;
  }
}

template <class W>
void write_skew_is_found_where_it_is_allowed_and_nowhere_else(W& w) {
  if (w.threads() < 2) {
    return;
  }
  // Both withdraw if the sum allows it. In a serial order the sum never falls below zero. The cells
  // lie in different lines, also of 128 bytes.
  constexpr int kOther = 2;
  auto& heap = w.heap();
  auto* c = cells(heap);
  bool skewed = false;
  for (int round = 0; round < w.skew_rounds() && !skewed; ++round) {
    heap.update([&] {
          c->cell[0].value = 1;
          c->cell[kOther].value = 1;
        })
        .check();
    w.run(2, [&](int thread) {
      heap.update([&] {
            const int64_t sum = c->cell[0].value + c->cell[kOther].value;
            if (sum >= 2) {
              c->cell[thread * kOther].value -= 2;
            }
          })
          .check();
    });
    const auto v = values(heap);
    skewed = v[0] + v[kOther] < 0;
  }
  if (w.description().isolation == Isolation::opaque) {
    EXPECT_FALSE(skewed);
  } else if (w.finds_skew()) {
    EXPECT_TRUE(skewed) << "snapshot isolation allows this; the schedule should have found it";
  }
}

template <class W>
void promotion_prevents_write_skew(W& w) {
  if (w.threads() < 2) {
    return;
  }
  auto& heap = w.heap();
  auto* c = cells(heap);
  for (int round = 0; round < w.skew_rounds(); ++round) {
    heap.update([&] {
          c->cell[0].value = 1;
          c->cell[1].value = 1;
        })
        .check();
    w.run(2, [&](int thread) {
      heap.update([&] {
            c->cell[1 - thread].value.promote();
            const int64_t sum = c->cell[0].value + c->cell[1].value;
            if (sum >= 2) {
              c->cell[thread].value -= 2;
            }
          })
          .check();
    });
    const auto v = values(heap);
    ASSERT_GE(v[0] + v[1], 0) << "round " << round;
  }
}

/// Smaller than a line, so that a box that no transaction changes shares lines with changing ones.
template <class H>
struct Box {
  typename H::template Field<uint64_t> word[5];

  static uint64_t content(uint64_t box, int i) {
    return 0x9e3779b97f4a7c15 * (8 * box + static_cast<uint64_t>(i) + 1);
  }
  void fill(uint64_t box) {
    for (int i = 0; i < 5; ++i) {
      word[i] = content(box, i);
    }
  }
};

template <class H>
struct Shelf {
  static constexpr const char* kTypeName = "conformance.Shelf";
  static constexpr uint32_t kTypeVersion = 1;
  static constexpr uint64_t kPlaces = 256;
  typename H::template Field<Box<H>*> place[kPlaces];
};

template <class W>
void what_is_at_rest_takes_plain_loads(W& w) {
  using H = typename W::H;
  if (!w.description().plain_reads) {
    GTEST_SKIP() << "the engine does not promise it";
  }
  auto& heap = w.heap();
  auto* shelf = heap.template root<Shelf<H>>("shelf").value();
  std::vector<int> seen(static_cast<size_t>(w.threads()));
  w.run(w.threads(), [&](int thread) {
    Random random(static_cast<uint64_t>(thread) + 1);
    const auto put_up = [&](uint64_t place, bool keep) {
      heap.update([&] {
            auto* box = H::template make<Box<H>>();
            box->fill(place);
            shelf->place[place] = box;
            auto* scratch = H::template make<Box<H>>();  // reuses one block again and again
            scratch->fill(~place);
            H::destroy(scratch);
            if (!keep) {
              throw place;
            }
          })
          .check();
    };
    for (int i = 0; i < w.rounds(); ++i) {
      const auto place = static_cast<uint64_t>(i * w.threads() + thread) % Shelf<H>::kPlaces;
      EXPECT_THROW(put_up(place, false), uint64_t);
      put_up(place, true);
      for (int look = 0; look < 4; ++look) {
        const uint64_t other = random.below(static_cast<uint64_t>((i + 1) * w.threads()));
        const Box<H>* const box = heap.read([&] { return shelf->place[other].load(); }).value();
        for (int k = 0; k < 5 && box != nullptr; ++k) {
          const auto* at = reinterpret_cast<const uint64_t*>(&box->word[k]);
          ASSERT_EQ(H::Machine::load(at), Box<H>::content(other, k))
              << "thread " << thread << " round " << i << " place " << other << " word " << k;
          seen[static_cast<size_t>(thread)] += 1;
        }
      }
    }
  });
  EXPECT_GT(std::accumulate(seen.begin(), seen.end(), 0), 0);
}

}  // namespace holdfast::conformance
