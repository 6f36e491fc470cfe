// SPDX-License-Identifier: Apache-2.0
//
// The data of `vacation`: cars, rooms and flights with seats, customers with reservations, and the
// steps of its transactions.
//
// Snapshot isolation. Two transactions that change one resource both store to `free`. Two that
// reserve for one customer both store to `first`. Deleting a customer promotes `first`, so it
// conflicts with a reservation for this customer. The trees have promotions of their own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "holdfast/structures/hold.h"
#include "holdfast/structures/parent_rb_tree.h"

namespace holdfast::vacation {

/// Kinds of resource: cars, rooms, flights.
inline constexpr size_t kKinds = 3;
/// Seats that one change of a resource adds or removes. All totals are multiples of it.
inline constexpr int64_t kSeatStep = 100;
inline constexpr int64_t kLeastPrice = 50;
inline constexpr int64_t kMostPrice = 90;

/// A car, room or flight; prices are in whole units of money.
template <class H>
struct Resource {
  template <class T>
  using Field = typename H::template Field<T>;

  Resource(int64_t seats, int64_t p) : used(0), free(seats), total(seats), price(p) {}

  Field<int64_t> used;
  Field<int64_t> free;
  Field<int64_t> total;
  Field<int64_t> price;  ///< of the next reservation
};

template <class H>
struct Reservation {
  template <class T>
  using Field = typename H::template Field<T>;

  Reservation(size_t k, uint64_t i, int64_t p, Reservation* n)
      : kind(k), id(i), price(p), next(n) {}

  Field<uint64_t> kind;
  Field<uint64_t> id;
  Field<int64_t> price;  ///< at the time of the reservation
  Field<Reservation*> next;
};

template <class H>
struct Customer {
  template <class T>
  using Field = typename H::template Field<T>;

  Customer() : first(nullptr), bill(0) {}

  Field<Reservation<H>*> first;
  Field<int64_t> bill;  ///< the sum of the prices of the reservations
};

/// The tables. `kPromote` is false only in tests, which show the damage that follows without.
///
/// Thread safety: through transactions. Every member function runs inside one.
template <class H, bool kPromote = true>
struct Tables {
  std::array<ParentRbTree<H, uint64_t, Resource<H>*>, kKinds> resources;
  ParentRbTree<H, uint64_t, Customer<H>*> customers;

  /// Returns the number of free seats, or -1 if there is no such resource.
  int64_t free_seats(size_t kind, uint64_t id) const {
    const auto found = resources[kind].find(id);
    return found ? (*found)->free.load() : -1;
  }
  /// Returns the price of a seat, or -1 if there is no such resource.
  int64_t price(size_t kind, uint64_t id) const {
    const auto found = resources[kind].find(id);
    return found ? (*found)->price.load() : -1;
  }

  /// Adds seats and sets the price. Creates the resource if there is none.
  void add_seats(size_t kind, uint64_t id, int64_t seats, int64_t price) {
    const auto found = resources[kind].find(id);
    if (!found) {
      resources[kind].insert(id, H::template make<Resource<H>>(seats, price));
      return;
    }
    Resource<H>* resource = *found;
    resource->free += seats;
    resource->total += seats;
    resource->price = price;
  }

  /// Removes free seats, and the resource with its last seat. Returns false, changing nothing, if
  /// fewer seats are free.
  bool remove_seats(size_t kind, uint64_t id, int64_t seats) {
    const auto found = resources[kind].find(id);
    if (!found || (*found)->free < seats) {
      return false;
    }
    Resource<H>* resource = *found;
    resource->free -= seats;
    resource->total -= seats;
    if (resource->total == 0) {
      resources[kind].erase(id);
      H::destroy(resource);
    }
    return true;
  }

  /// Returns false if the customer exists.
  bool add_customer(uint64_t id) {
    if (customers.contains(id)) {
      return false;
    }
    return customers.insert(id, H::template make<Customer<H>>());
  }

  /// Reserves a seat. Returns false, changing nothing, if the customer or the resource does not
  /// exist, no seat is free, or the customer has a reservation of this resource.
  bool reserve(uint64_t customer_id, size_t kind, uint64_t id) {
    const auto customer = customers.find(customer_id);
    const auto resource = resources[kind].find(id);
    if (!customer || !resource || (*resource)->free < 1 || has(**customer, kind, id)) {
      return false;
    }
    const int64_t price = (*resource)->price;
    (*resource)->used += 1;
    (*resource)->free -= 1;
    (*customer)->first =
        H::template make<Reservation<H>>(kind, id, price, (*customer)->first.load());
    (*customer)->bill += price;
    return true;
  }

  /// Cancels the customer's reservations and removes the customer. Returns the bill, or -1 if there
  /// is no such customer.
  int64_t delete_customer(uint64_t id) {
    const auto found = customers.find(id);
    if (!found) {
      return -1;
    }
    Customer<H>* customer = *found;
    // Skew: a reservation that commits beside the deletion would be lost with the customer, and its
    // seat would stay used.
    hold<kPromote>(customer->first);
    const int64_t bill = customer->bill;
    for (Reservation<H>* r = customer->first; r != nullptr;) {
      if (const auto resource = resources[r->kind].find(r->id)) {
        (*resource)->used -= 1;
        (*resource)->free += 1;
      }
      Reservation<H>* next = r->next;
      H::destroy(r);
      r = next;
    }
    customers.erase(id);
    H::destroy(customer);
    return bill;
  }

  /// Calls visit(p, n) for each block of the heap that the tables own.
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    for (const auto& table : resources) {
      table.visit_blocks(visit);
      table.for_each([&](uint64_t, const Resource<H>* resource) {
        visit(static_cast<const void*>(resource), sizeof(Resource<H>));
        return true;
      });
    }
    customers.visit_blocks(visit);
    customers.for_each([&](uint64_t, const Customer<H>* customer) {
      visit(static_cast<const void*>(customer), sizeof(Customer<H>));
      for (const Reservation<H>* r = customer->first; r != nullptr; r = r->next) {
        visit(static_cast<const void*>(r), sizeof(Reservation<H>));
      }
      return true;
    });
  }

 private:
  static bool has(const Customer<H>& customer, size_t kind, uint64_t id) {
    for (const Reservation<H>* r = customer.first; r != nullptr; r = r->next) {
      if (r->kind == kind && r->id == id) {
        return true;
      }
    }
    return false;
  }
};

}  // namespace holdfast::vacation
