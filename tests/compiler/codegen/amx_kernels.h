// Kernels with tiles of AMX, on processors that have none, too.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "compiler/interpreter/interpreter.h"
#include "support/random.h"
#include "tests/compiler/codegen/amx_emulator.h"
#include "tests/compiler/codegen/loaded_kernels.h"

namespace lathe {

inline constexpr char kWithTiles[] =
    "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3 -mattr=+amx-bf16,+amx-int8 -num-cores=1";

// Bytes of any value; bfloat16 of small integers, so that sums of any order are the same.
inline std::vector<Tensor> RandomFactors(const PrimFunc& func, Random& random) {
  std::vector<Tensor> tensors;
  for (const Param& param : ParamsOf(func)) {
    const Buffer& buffer = std::get<Buffer>(param);
    Tensor tensor = Tensor::Zeros(buffer->dtype, *ConstantShape(buffer->shape));
    const int64_t values = buffer->dtype.is_float() ? 17 : 256;
    std::vector<int64_t> numbers(tensor.NumElements());
    for (int64_t& number : numbers)
      number = static_cast<int64_t>(random.Below(static_cast<uint64_t>(values))) -
               (buffer->dtype == DataType::UInt(8) ? 0 : values / 2);
    tensors.push_back(Tensor::FromInts(buffer->dtype, tensor.shape, numbers));
  }
  return tensors;
}

inline std::string RunProduct(const LoadedKernels& kernels, const std::vector<Tensor>& tensors) {
  std::vector<AlignedArray<char>> memory;
  std::vector<void*> buffers;
  for (const Tensor& tensor : tensors) {
    memory.emplace_back(tensor.data.size());
    std::memcpy(memory.back().data(), tensor.data.data(), tensor.data.size());
    buffers.push_back(memory.back().data());
  }
  TestContext context;
  EXPECT_EQ(kernels.Find(0, "main")(&context.context, buffers.data(), nullptr), 0) << context.failure;
  return std::string(memory.back().begin(), memory.back().end());
}

inline std::string BytesOf(const Tensor& tensor) {
  return std::string(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
}

}  // namespace lathe
