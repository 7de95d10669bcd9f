#include "compiler/ir/op_table.h"

namespace lathe {
namespace {

// Sorted by name; TVM's names. `num_args` -1: any number.
constexpr Op kOps[] = {
    {"abs", 1, true},           {"acos", 1, true},
    {"acosh", 1, true},         {"asin", 1, true},
    {"asinh", 1, true},         {"assume", 1, false},
    {"atan", 1, true},          {"atan2", 2, true},
    {"atanh", 1, true},         {"bitwise_and", 2, true},
    {"bitwise_not", 1, true},   {"bitwise_or", 2, true},
    {"bitwise_xor", 2, true},   {"ceil", 1, true},
    {"clz", 1, true},           {"copysign", 2, true},
    {"cos", 1, true},           {"cosh", 1, true},
    {"erf", 1, true},           {"exp", 1, true},
    {"exp10", 1, true},         {"exp2", 1, true},
    {"floor", 1, true},         {"fma", 3, true},
    {"fmod", 2, true},          {"hypot", 2, true},
    {"if_then_else", 3, true},  {"infinity", 0, true},
    {"isfinite", 1, true},      {"isinf", 1, true},
    {"isnan", 1, true},         {"ldexp", 2, true},
    {"likely", 1, true},        {"log", 1, true},
    {"log10", 1, true},         {"log1p", 1, true},
    {"log2", 1, true},          {"max_value", 0, true},
    {"min_value", 0, true},     {"nearbyint", 1, true},
    {"nextafter", 2, true},     {"popcount", 1, true},
    {"pow", 2, true},           {"reinterpret", 1, true},
    {"round", 1, true},         {"rsqrt", 1, true},
    {"shift_left", 2, true},    {"shift_right", 2, true},
    {"sigmoid", 1, true},       {"sin", 1, true},
    {"sinh", 1, true},          {"sqrt", 1, true},
    {"tan", 1, true},           {"tanh", 1, true},
    {"trunc", 1, true},         {"tvm_storage_sync", 1, false},
    {"undef", 0, true},         {"vector_reduce_add", 1, true},
    {"vectorcombine", 2, true}, {"vectorhigh", 1, true},
    {"vectorlow", 1, true},
};

}  // namespace

std::span<const Op> AllOps() { return kOps; }

const Op* FindOp(std::string_view name) {
  for (const Op& op : kOps) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

}  // namespace lathe
