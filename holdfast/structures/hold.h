// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace holdfast {

/// Promotes fields that a transaction has read and relies on, so that under snapshot isolation a
/// concurrent change of them conflicts. `kPromote` is false only in tests that show the corruption
/// which follows without.
///
/// Two rules cover most uses. Whoever frees a node holds every field of it that others may write: a
/// change committed beside the free would be lost. And whoever changes one field because of what
/// another one says holds the other one.
template <bool kPromote, class... F>
void hold(const F&... field) {
  if constexpr (kPromote) {
    (field.promote(), ...);
  }
}

}  // namespace holdfast
