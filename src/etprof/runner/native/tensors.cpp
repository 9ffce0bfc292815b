#include "tensors.h"

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "failure.h"

namespace etprof {
namespace {

using executorch::aten::ScalarType;
using executorch::runtime::EValue;
using executorch::runtime::MethodMeta;
using executorch::runtime::TensorInfo;

struct KnownType {
  ScalarType type;
  const char* name;
  // The bits of the number one.
  uint64_t one;
};

// By PyTorch's names.
constexpr KnownType kTypes[] = {
    {ScalarType::Byte, "uint8", 1},
    {ScalarType::Char, "int8", 1},
    {ScalarType::Short, "int16", 1},
    {ScalarType::Int, "int32", 1},
    {ScalarType::Long, "int64", 1},
    {ScalarType::Half, "float16", 0x3c00},
    {ScalarType::Float, "float32", 0x3f800000},
    {ScalarType::Double, "float64", 0x3ff0000000000000},
    {ScalarType::Bool, "bool", 1},
    {ScalarType::BFloat16, "bfloat16", 0x3f80},
    {ScalarType::UInt16, "uint16", 1},
    {ScalarType::UInt32, "uint32", 1},
    {ScalarType::UInt64, "uint64", 1},
};

std::string type_name(ScalarType type) {
  for (const KnownType& known : kTypes) {
    if (known.type == type) {
      return known.name;
    }
  }
  return executorch::runtime::toString(type);
}

template <typename Sizes>
std::string describe(ScalarType type, const Sizes& sizes) {
  std::string text = type_name(type) + " [";
  for (const auto size : sizes) {
    text += (text.back() == '[' ? "" : ", ") + std::to_string(size);
  }
  return text + "]";
}

// Calls move(row_major_index, memory_index) for every element.
template <typename Sizes, typename Strides, typename Move>
void for_each_element(const Sizes& sizes, const Strides& strides, Move move) {
  std::vector<size_t> index(sizes.size(), 0);
  size_t count = 1;
  for (const auto size : sizes) {
    count *= static_cast<size_t>(size);
  }
  size_t offset = 0;
  for (size_t element = 0; element < count; ++element) {
    move(element, offset);
    for (size_t dim = sizes.size(); dim-- > 0;) {
      offset += static_cast<size_t>(strides[dim]);
      if (++index[dim] < static_cast<size_t>(sizes[dim])) {
        break;
      }
      offset -= index[dim] * static_cast<size_t>(strides[dim]);
      index[dim] = 0;
    }
  }
}

std::vector<uint8_t> make_ones(size_t size, ScalarType type) {
  std::vector<uint8_t> bytes(size);
  const size_t width = executorch::runtime::elementSize(type);
  for (const KnownType& known : kTypes) {
    for (size_t at = 0; known.type == type && at < size; at += width) {
      // Little-endian, as is every machine this runs on: the low bytes come first.
      std::memcpy(bytes.data() + at, &known.one, width);
    }
  }
  return bytes;
}

size_t count_bytes(const std::vector<executorch::aten::SizesType>& sizes, ScalarType type) {
  size_t bytes = executorch::runtime::elementSize(type);
  for (const auto size : sizes) {
    bytes *= static_cast<size_t>(size);
  }
  return bytes;
}

// The program gives the largest sizes that an input may have; a shape that was asked for has to lie within them.
void set_sizes(Input& input, const TensorInfo& info, size_t index, const Shape* asked) {
  input.sizes.assign(info.sizes().begin(), info.sizes().end());
  if (asked == nullptr) {
    return;
  }
  bool fits = asked->size() == input.sizes.size();
  for (size_t dim = 0; fits && dim < asked->size(); ++dim) {
    fits = (*asked)[dim] <= input.sizes[dim];
  }
  if (!fits) {
    throw Failure(ExitCode::kInputsWrong, "Input " + std::to_string(index) + " cannot be " +
                                              describe(info.scalar_type(), *asked) + ": the model takes at most " +
                                              describe(info.scalar_type(), info.sizes()) + ".");
  }
  input.sizes.assign(asked->begin(), asked->end());
}

void set_layout(Input& input, const TensorInfo& info, size_t index, const Shape* asked) {
  set_sizes(input, info, index, asked);
  input.dim_order.assign(info.dim_order().begin(), info.dim_order().end());
  input.strides.resize(input.sizes.size());
  const auto status = executorch::runtime::dim_order_to_stride(input.sizes.data(), input.dim_order.data(),
                                                               input.sizes.size(), input.strides.data());
  if (status != executorch::runtime::Error::Ok) {
    throw Failure(ExitCode::kModelInvalid, "Input " + std::to_string(index) + " of the model has no valid layout.");
  }
}

// From row-major order to that of the program.
void put_in_order(const Input& input, ScalarType type, const std::vector<uint8_t>& bytes, uint8_t* target) {
  const size_t width = executorch::runtime::elementSize(type);
  for_each_element(input.sizes, input.strides, [&](size_t element, size_t offset) {
    std::memcpy(target + offset * width, bytes.data() + element * width, width);
  });
}

void attach(Input& input, ScalarType type, uint8_t* data) {
  input.tensor = std::make_unique<executorch::aten::TensorImpl>(
      type, input.sizes.size(), input.sizes.data(), data, input.dim_order.data(), input.strides.data());
  input.value = EValue(executorch::aten::Tensor(input.tensor.get()));
}

void build_tensor(Input& input, const TensorInfo& info, size_t index, const std::string& file, const Shape* asked) {
  set_layout(input, info, index, asked);
  const size_t needed = count_bytes(input.sizes, info.scalar_type());
  if (file.empty()) {
    input.bytes = make_ones(needed, info.scalar_type());
  } else {
    const std::vector<uint8_t> bytes = read_file(file);
    if (bytes.size() != needed) {
      throw Failure(ExitCode::kInputsWrong, file + " holds " + std::to_string(bytes.size()) + " bytes; input " +
                                                std::to_string(index) + " of the model is " +
                                                describe(info.scalar_type(), input.sizes) + ", which is " +
                                                std::to_string(needed) + ".");
    }
    input.bytes.resize(bytes.size());
    put_in_order(input, info.scalar_type(), bytes, input.bytes.data());
  }
  attach(input, info.scalar_type(), input.bytes.data());
}

KeptOutput keep_tensor(const executorch::aten::Tensor& tensor) {
  KeptOutput output{type_name(tensor.scalar_type()), {}, std::nullopt};
  output.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
  const auto* data = static_cast<const uint8_t*>(tensor.const_data_ptr());
  if (data == nullptr && tensor.nbytes() > 0) {
    return output;
  }
  const size_t width = executorch::runtime::elementSize(tensor.scalar_type());
  std::vector<uint8_t> bytes(tensor.nbytes());
  for_each_element(tensor.sizes(), tensor.strides(), [&](size_t element, size_t offset) {
    std::memcpy(bytes.data() + element * width, data + offset * width, width);
  });
  output.bytes = std::move(bytes);
  return output;
}

// A number is kept as a tensor without dimensions.
template <typename Number>
KeptOutput keep_number(const char* dtype, Number number) {
  std::vector<uint8_t> bytes(sizeof(number));
  std::memcpy(bytes.data(), &number, sizeof(number));
  return {dtype, {}, std::move(bytes)};
}

}  // namespace

std::vector<uint8_t> read_file(const std::string& path) {
  std::vector<uint8_t> bytes;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  uint8_t chunk[1 << 16];
  for (size_t got = 1; file != nullptr && got > 0;) {
    got = std::fread(chunk, 1, sizeof(chunk), file);
    bytes.insert(bytes.end(), chunk, chunk + got);
  }
  // A folder opens like a file, but cannot be read.
  if (file == nullptr || std::ferror(file) != 0) {
    throw Failure(ExitCode::kInputsWrong, "Cannot read the input " + path + ": " + std::strerror(errno) + ".");
  }
  std::fclose(file);
  return bytes;
}

Input build_view(const MethodMeta& meta, size_t index, const Shape& shape, uint8_t* data, size_t slices, size_t room) {
  const auto info = meta.input_tensor_meta(index);
  if (!info.ok()) {
    throw Failure(ExitCode::kInputsWrong, "Input " + std::to_string(index) + " of the model is not a tensor.");
  }
  Input input;
  set_layout(input, *info, index, &shape);
  const size_t needed = count_bytes(input.sizes, info->scalar_type());
  if (needed != 0 && slices > room / needed) {
    throw Failure(ExitCode::kInputsWrong, "The workload holds too few bytes for input " + std::to_string(index) +
                                              ", " + describe(info->scalar_type(), input.sizes) + ".");
  }
  for (size_t slice = 0; slice < slices; ++slice) {
    uint8_t* place = data + slice * needed;
    put_in_order(input, info->scalar_type(), std::vector<uint8_t>(place, place + needed), place);
  }
  attach(input, info->scalar_type(), data);
  return input;
}

std::vector<Input> build_inputs(const MethodMeta& meta, const std::vector<std::string>& files,
                                const std::vector<Shape>& shapes) {
  if (!files.empty() && files.size() != meta.num_inputs()) {
    throw Failure(ExitCode::kInputsWrong, "The model takes " + std::to_string(meta.num_inputs()) +
                                              " inputs, --inputs names " + std::to_string(files.size()) + " files.");
  }
  if (!shapes.empty() && shapes.size() != meta.num_inputs()) {
    throw Failure(ExitCode::kInputsWrong, "The model takes " + std::to_string(meta.num_inputs()) +
                                              " inputs, --input_shapes names " + std::to_string(shapes.size()) + ".");
  }
  std::vector<Input> inputs(meta.num_inputs());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto info = meta.input_tensor_meta(i);
    if (!info.ok()) {
      throw Failure(ExitCode::kInputsWrong, "Input " + std::to_string(i) + " of the model is not a tensor.");
    }
    build_tensor(inputs[i], *info, i, files.empty() ? "" : files[i], shapes.empty() ? nullptr : &shapes[i]);
  }
  return inputs;
}

KeptOutput keep_output(const EValue& value) {
  if (value.isTensor()) {
    return keep_tensor(value.toTensor());
  }
  if (value.isInt()) {
    return keep_number("int64", value.toInt());
  }
  if (value.isDouble()) {
    return keep_number("float64", value.toDouble());
  }
  if (value.isBool()) {
    return keep_number("bool", value.toBool());
  }
  if (value.isString()) {
    const auto text = value.toString();
    return {"string", {}, std::vector<uint8_t>(text.data(), text.data() + text.size())};
  }
  return {value.isNone() ? "none" : "list", {}, std::nullopt};
}

}  // namespace etprof
