// Tensors as files: the bytes of their elements in row-major order, whatever order the program keeps them in.
#pragma once

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/executor/method_meta.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "options.h"

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

// From the files given, or filled with ones when there are none; of the shapes given, or the largest possible.
std::vector<Input> build_inputs(const executorch::runtime::MethodMeta& meta, const std::vector<std::string>& files,
                                const std::vector<Shape>& shapes);

// Of `slices` tensors that lie one after the other in row-major order, with `room` bytes for them: puts each in the
// order of the program, and gives the first as an input. Setting its data to another makes that the input.
Input build_view(const executorch::runtime::MethodMeta& meta, size_t index, const Shape& shape, uint8_t* data,
                 size_t slices, size_t room);

std::vector<uint8_t> read_file(const std::string& path);

// An output's elements in row-major order; no bytes where it has no value that bytes could hold.
struct KeptOutput {
  std::string dtype;
  std::vector<int64_t> shape;
  std::optional<std::vector<uint8_t>> bytes;
};

KeptOutput keep_output(const executorch::runtime::EValue& value);

}  // namespace etprof
