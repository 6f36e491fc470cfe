// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/designs.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

#include "holdfast/base/catalogue.h"
#include "holdfast/hardware/ehou/ehou.h"
#include "holdfast/hardware/fwb/fwb.h"
#include "holdfast/hardware/hercules/hercules.h"
#include "holdfast/hardware/hoop/hoop.h"
#include "holdfast/hardware/kiln/kiln.h"
#include "holdfast/hardware/opt/opt.h"
#include "holdfast/hardware/picl/picl.h"
#include "holdfast/hardware/proteus/proteus.h"
#include "holdfast/hardware/redu/redu.h"
#include "holdfast/hardware/ssp/ssp.h"
#include "holdfast/hardware/tc/transaction_cache.h"
#include "holdfast/machine/sim/design/own_design.h"

namespace holdfast {
namespace {

constexpr const char* kSymbol = "holdfast_own_design";
constexpr size_t kLongestName = 31;  // an image has 32 bytes for it

bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".so");
}

Status no_design(const std::string& path, const std::string& reason) {
  return {Code::wrong_format, "'" + path + "' is no hardware design: " + reason};
}

std::string hexadecimal(uint32_t number) {
  char text[9];
  std::snprintf(text, sizeof(text), "%08x", number);
  return text;
}

/// Checks that both sides mean the same by each type and each virtual function.
Status check_interface(const std::string& path, const OwnDesign& own) {
  if (own.interface == kDesignInterface && own.layout == design_layout()) {
    return {};
  }
  const bool headers = own.interface != kDesignInterface;
  return no_design(
      path, std::string("it was compiled ") +
                (headers ? "with the headers of another version of Holdfast (interface "
                         : "by another compiler or standard library (layout ") +
                hexadecimal(headers ? own.interface : own.layout) + ", not " +
                hexadecimal(headers ? kDesignInterface : design_layout()) +
                "); compile it anew with the headers, the compiler and the standard library of "
                "this Holdfast");
}

Status check_name(const std::string& path, const DesignInfo& info) {
  if (info.name == nullptr || info.make == nullptr || *info.name == 0 ||
      std::strlen(info.name) > kLongestName) {
    return no_design(path, "it needs a function `make`, and a name of 1 to " +
                               std::to_string(kLongestName) + " bytes");
  }
  if (find_row("hardware design", info.name, hardware_designs()).ok()) {
    return {Code::already_exists, "'" + path + "' has a hardware design with the name '" +
                                      info.name +
                                      "', which Holdfast has as well; give yours another name"};
  }
  return {};
}

/// With RTLD_NODELETE the shared object outlives its handle, so nothing has to keep the handle.
Result<const DesignInfo*> load_own_design(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error || !std::filesystem::exists(absolute, error)) {
    return Status(Code::not_found, "there is no file '" + path +
                                       "' with a hardware design; without a slash and '.so', "
                                       "the names are " +
                                       row_names(hardware_designs()));
  }
  void* const library = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    return no_design(path, std::string("the system cannot load it (") + dlerror() + ")");
  }
  const auto* own = static_cast<const OwnDesign*>(dlsym(library, kSymbol));
  dlclose(library);
  if (own == nullptr) {
    return no_design(path, std::string("it has no symbol ") + kSymbol +
                               "; its source must end with HOLDFAST_DESIGN(...)");
  }
  if (Status status = check_interface(path, *own); !status.ok()) {
    return status;
  }
  const DesignInfo& info = own->info();
  if (Status status = check_name(path, info); !status.ok()) {
    return status;
  }
  return &info;
}

Result<std::unique_ptr<HardwareDesign>> make(const DesignInfo& info, const Options& options) {
  if (Status status = check_option_names(std::string("hardware design '") + info.name + "'",
                                         "option", info.options, options);
      !status.ok()) {
    return status;
  }
  return info.make(options);
}

}  // namespace

std::span<const DesignInfo> hardware_designs() {
  // clang-format off: a line for each design
  static const DesignInfo kDesigns[] = {
      opt_info(),
      tc_info(),
      hercules_info(),
      hoop_info(),
      kiln_info(),
      picl_info(),
      proteus_info(),
      fwb_info(),
      ehou_info(),
      redu_info(),
      ssp_info(),
  };
  // clang-format on
  return kDesigns;
}

Result<const DesignInfo*> find_design(const std::string& name) {
  return is_path(name) ? load_own_design(name)
                       : find_row("hardware design", name, hardware_designs());
}

Result<std::unique_ptr<HardwareDesign>> make_design(const std::string& name,
                                                    const Options& options) {
  const Result<const DesignInfo*> info = find_design(name);
  return info.ok() ? make(*info.value(), options) : info.status();
}

void use_design(SimOptions& options, const std::string& name, const Options& design_options) {
  options.design = name;
  options.make_design = nullptr;
  if (name.empty()) {
    return;
  }
  const DesignInfo* info = find_design(name).value();
  make(*info, design_options).status().check();
  options.design = info->name;
  options.domain = info->domain.value_or(options.domain);
  options.make_design = [info, design_options] { return make(*info, design_options).value(); };
}

}  // namespace holdfast
