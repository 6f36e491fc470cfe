// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/threads/trace.h"

namespace holdfast::sim {

const char* to_string(Op op) {
  switch (op) {
    case Op::none:
      return "none";
    case Op::load:
      return "load";
    case Op::store:
      return "store";
    case Op::rmw:
      return "rmw";
    case Op::wait:
      return "wait";
    case Op::pwb:
      return "pwb";
    case Op::pfence:
      return "pfence";
    case Op::psync:
      return "psync";
    case Op::fence:
      return "fence";
    case Op::begin:
      return "begin";
    case Op::suspend:
      return "suspend";
    case Op::resume:
      return "resume";
    case Op::commit:
      return "commit";
    case Op::pause:
      return "pause";
    case Op::work:
      return "work";
    case Op::now:
      return "now";
  }
  return "unknown";
}

}  // namespace holdfast::sim
