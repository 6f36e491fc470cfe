// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "holdfast/db/store/store.h"

namespace holdfast::db {

template <class H>
struct CloseView {
  Store<H>* store;
  void operator()(const typename Store<H>::View* view) const { store->close_view(view); }
};

/// One holder of a view, which closes the view at its own end. Whatever fails between opening a
/// view and its last use, the view must not stay open: it would keep old versions for ever.
template <class H>
using HeldView = std::unique_ptr<const typename Store<H>::View, CloseView<H>>;

}  // namespace holdfast::db
