#include "tensors.h"

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "failure.h"
#include "sha256.h"

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

void build_tensor(Input& input, const TensorInfo& info, size_t index, const std::string& file) {
  input.sizes.assign(info.sizes().begin(), info.sizes().end());
  input.dim_order.assign(info.dim_order().begin(), info.dim_order().end());
  input.strides.resize(input.sizes.size());
  const auto status = executorch::runtime::dim_order_to_stride(input.sizes.data(), input.dim_order.data(),
                                                               input.sizes.size(), input.strides.data());
  if (status != executorch::runtime::Error::Ok) {
    throw Failure(ExitCode::kModelInvalid, "Input " + std::to_string(index) + " of the model has no valid layout.");
  }
  if (file.empty()) {
    input.bytes = make_ones(info.nbytes(), info.scalar_type());
  } else {
    const std::vector<uint8_t> bytes = read_file(file);
    if (bytes.size() != info.nbytes()) {
      throw Failure(ExitCode::kInputsWrong, file + " holds " + std::to_string(bytes.size()) + " bytes; input " +
                                                std::to_string(index) + " of the model is " +
                                                describe(info.scalar_type(), info.sizes()) + ", which is " +
                                                std::to_string(info.nbytes()) + ".");
    }
    input.bytes.resize(bytes.size());
    const size_t width = executorch::runtime::elementSize(info.scalar_type());
    for_each_element(input.sizes, input.strides, [&](size_t element, size_t offset) {
      std::memcpy(input.bytes.data() + offset * width, bytes.data() + element * width, width);
    });
  }
  input.tensor =
      std::make_unique<executorch::aten::TensorImpl>(info.scalar_type(), input.sizes.size(), input.sizes.data(),
                                                     input.bytes.data(), input.dim_order.data(), input.strides.data());
  input.value = EValue(executorch::aten::Tensor(input.tensor.get()));
}

}  // namespace

std::vector<Input> build_inputs(const MethodMeta& meta, const std::vector<std::string>& files) {
  if (!files.empty() && files.size() != meta.num_inputs()) {
    throw Failure(ExitCode::kInputsWrong, "The model takes " + std::to_string(meta.num_inputs()) +
                                              " inputs, --inputs names " + std::to_string(files.size()) + " files.");
  }
  std::vector<Input> inputs(meta.num_inputs());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto info = meta.input_tensor_meta(i);
    if (!info.ok()) {
      throw Failure(ExitCode::kInputsWrong, "Input " + std::to_string(i) + " of the model is not a tensor.");
    }
    build_tensor(inputs[i], *info, i, files.empty() ? "" : files[i]);
  }
  return inputs;
}

Output describe_output(const EValue& value, std::vector<uint8_t>& bytes) {
  bytes.clear();
  if (!value.isTensor()) {
    return {"none", {}, "", ""};
  }
  const auto& tensor = value.toTensor();
  const size_t width = executorch::runtime::elementSize(tensor.scalar_type());
  const auto* data = static_cast<const uint8_t*>(tensor.const_data_ptr());
  bytes.resize(tensor.nbytes());
  for_each_element(tensor.sizes(), tensor.strides(), [&](size_t element, size_t offset) {
    std::memcpy(bytes.data() + element * width, data + offset * width, width);
  });
  Output output{type_name(tensor.scalar_type()), {}, sha256_hex(bytes.data(), bytes.size()), ""};
  output.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
  return output;
}

}  // namespace etprof
