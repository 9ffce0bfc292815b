// Tensors as files: the bytes of their elements in row-major order, whatever order the program keeps them in.
#pragma once

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/executor/method_meta.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "result.h"

namespace etprof {

// One input of a method, with the memory behind it.
struct Input {
  std::unique_ptr<executorch::aten::TensorImpl> tensor;
  std::vector<executorch::aten::SizesType> sizes;
  std::vector<executorch::aten::DimOrderType> dim_order;
  std::vector<executorch::aten::StridesType> strides;
  std::vector<uint8_t> bytes;
  executorch::runtime::EValue value;
};

// From the files given, or filled with ones when there are none.
std::vector<Input> build_inputs(const executorch::runtime::MethodMeta& meta, const std::vector<std::string>& files);

// The elements in row-major order, and the output's description without its file.
Output describe_output(const executorch::runtime::EValue& value, std::vector<uint8_t>& bytes);

}  // namespace etprof
