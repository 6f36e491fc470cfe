// SPDX-License-Identifier: Apache-2.0
//
// Durable data structures, templates over a heap. This file: how they avoid write skew.
#pragma once

namespace holdfast {

/// Promotes fields that a transaction has read and relies on, so that under snapshot isolation a
/// concurrent change of them conflicts.
///
/// Two rules cover most uses. Before freeing a node, promote every field of it that others may
/// write; a change committed beside the free would be lost. Before writing A because of B, promote
/// B.
///
/// `kPromote` is false only in tests, which show the corruption that follows without promotion.
template <bool kPromote, class... F>
void hold(const F&... field) {
  if constexpr (kPromote) {
    (field.promote(), ...);
  }
}

}  // namespace holdfast
