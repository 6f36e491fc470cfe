// SPDX-License-Identifier: Apache-2.0
#include "holdfast/heap/caught_at_start.h"

#include <new>
#include <system_error>

#include "holdfast/machine/machine.h"

namespace holdfast {

Status caught_at_start(const std::string& name) {
  try {
    throw;
  } catch (const MediumFailure& failure) {
    return failure.status();
  } catch (const Error& error) {
    return error.status();
  } catch (const std::bad_alloc&) {
    return {Code::out_of_space, name + ": the system has no memory for the heap"};
  } catch (const std::system_error& error) {
    return {Code::out_of_space,
            name + ": the system has no thread for the heap (" + error.what() + ")",
            error.code().value()};
  }
}

}  // namespace holdfast
