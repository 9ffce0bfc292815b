// Options of the XNNPACK backend that take effect when a model is loaded.
#pragma once

#include <executorch/runtime/backend/backend_options_map.h>

#include <string>
#include <vector>

namespace etprof {

// Those of every method that is loaded from now on. Each is NAME=VALUE. Unknown names are refused: the backend ignores
// them.
void set_load_options(const std::vector<std::string>& options);

// As ExecuTorch takes them with a method.
const executorch::runtime::LoadBackendOptionsMap& load_options();

// The value of `packed_cache_path` among them, or empty.
std::string find_cache_path(const std::vector<std::string>& options);

}  // namespace etprof
