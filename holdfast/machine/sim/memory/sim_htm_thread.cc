// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/memory/sim_htm_thread.h"

#include "holdfast/machine/sim/memory/memory_system.h"

namespace holdfast::sim {

AbortCause SimHtmThread::begin(Tracking tracking) {
  memory_.begin(thread_, tracking);
  return AbortCause::none;
}
void SimHtmThread::suspend() {
  memory_.suspend(thread_);
}
void SimHtmThread::resume() {
  memory_.resume(thread_);
}
void SimHtmThread::track(Tracking tracking) {
  memory_.track(thread_, tracking);
}
void SimHtmThread::commit() {
  memory_.commit(thread_);
}
void SimHtmThread::abort(AbortCode code) {
  memory_.abort(thread_, code);
}
AbortCause SimHtmThread::caught() {
  return memory_.caught(thread_);
}
AbortCode SimHtmThread::caught_code() const {
  return thread_.tx->code;
}
void SimHtmThread::cancel() {
  memory_.cancel(thread_);
}
bool SimHtmThread::open() const {
  return thread_.tx->open;
}
bool SimHtmThread::doomed() const {
  return thread_.tx->doomed();
}

void SimHtmThread::load_range(void* to, const void* from, size_t n) {
  memory_.copy(to, from, n);
}
void SimHtmThread::store_range(void* to, const void* from, size_t n) {
  memory_.copy(to, from, n);
}

}  // namespace holdfast::sim
