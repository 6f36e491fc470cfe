// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/spec/guarded.h"

#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

#include "holdfast/machine/machine.h"

namespace holdfast {

Status caught_by_entry() {
  try {
    throw;
  } catch (const Error& error) {
    return error.status();
  } catch (const MediumFailure& failure) {
    return failure.status();
  } catch (const nlohmann::json::exception& error) {
    return {Code::invalid_argument, error.what()};
  } catch (const std::bad_alloc&) {
    return {Code::out_of_space, "this computer ran out of memory"};
  }
}

Status caught_by_worker() {
  try {
    throw;
  } catch (const Error& error) {
    return error.status();
  } catch (const MediumFailure& failure) {
    return failure.status();
  } catch (const std::exception& error) {
    return {Code::misuse, std::string("an operation threw: ") + error.what()};
  }
}

}  // namespace holdfast
