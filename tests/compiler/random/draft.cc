#include "tests/compiler/random/draft.h"

#include <algorithm>

#include "compiler/script/complete.h"

namespace lathe {

Draft::Draft(uint64_t seed) : random_(seed), type_(DataType::Float(32)) {
  type_ = RandomType();
  has_int64_loops_ = Percent(20);
  if (Percent(25)) {
    symbol_.emplace("n", has_int64_loops_ && Percent(50) ? DataType::Int(64) : kIndexType);
    symbol_is_scalar_ = Percent(40);
  }
}

// ---- Extents

Dim Draft::RandomDim() {
  if (symbol_ && Percent(50)) return {1, Percent(25) ? int64_t(1 + Below(2)) : 0};
  if (Percent(10)) return {0, 1};
  return {0, Percent(50) ? int64_t(4 * (1 + Below(3))) : int64_t(2 + Below(8))};
}
Shape Draft::RandomShape() {
  Shape shape;
  for (size_t i = 0, rank = 1 + Below(Percent(20) ? 3 : 2); i < rank; ++i) shape.push_back(RandomDim());
  if (shared && Percent(70)) shape[0] = shared->extent;
  return shape;
}
Expr Draft::ToExpr(const Dim& dim) const {
  if (dim.is_constant()) return Expr(dim.constant);
  return Expr(*symbol_) * dim.scale + dim.constant;
}

// ---- Arrays

DataType Draft::RandomType() {
  const std::vector<DataType> types = {DataType::Float(32), DataType::Float(32), DataType::Int(32),
                                       DataType::Int(32),   DataType::Int(64),   DataType::Int(8),
                                       DataType::Float(64), DataType::Float(16), DataType::BFloat()};
  return num_arrays_ > 0 && Percent(85) ? type_ : Pick(types);
}
int64_t Draft::Limit(DataType type) {
  if (type == DataType::BFloat()) return 128;
  if (type == DataType::Float(16)) return 1024;
  return type.bits == 8 ? 100 : 1 << 20;
}
Array& Draft::NewArray(const Shape& shape, DataType type) {
  std::vector<Expr> extents;
  for (const Dim& dim : shape) extents.push_back(ToExpr(dim));
  const Buffer buffer = MakeBuffer("B" + std::to_string(num_arrays_++), std::move(extents), type);
  arrays_.push_back(std::make_unique<Array>(Array{.buffer = buffer, .shape = shape}));
  arrays_.back()->role = ParamRole::Kind::kOutput;
  return *arrays_.back();
}
Array& Draft::NewInput(Shape shape, ParamRole::Kind role) {
  for (Dim& dim : shape) dim.constant = dim.is_plain() ? dim.constant : 0;
  Array& array = NewArray(shape, RandomType());
  array.role = role;
  array.bound = 4;
  array.is_param = true;
  array.filled = Array::Filled::kAll;
  return array;
}
Buffer Draft::IndexBuffer(const Dim& length, const Dim& indexed, bool is_permutation) {
  const ParamRole role{is_permutation ? ParamRole::Kind::kPermutation : ParamRole::Kind::kIndex, {length}, 0, indexed};
  for (const auto& [buffer, known] : index_buffers_) {
    if (known.kind == role.kind && known.shape == role.shape && known.indexed == role.indexed) return buffer;
  }
  const std::string name = "I" + std::to_string(index_buffers_.size());
  index_buffers_.emplace_back(MakeBuffer(name, {ToExpr(length)}, Percent(70) ? DataType::Int(32) : DataType::Int(64)),
                              role);
  return index_buffers_.back().first;
}
Array* Draft::PickReadable(const std::function<bool(const Array&)>& fits) {
  std::vector<Array*> fitting;
  for (const auto& array : arrays_) {
    if (array->filled == Array::Filled::kNothing || array.get() == being_written) continue;
    if (array->filled == Array::Filled::kRowsSoFar && !shared) continue;
    if (fits == nullptr || fits(*array)) fitting.push_back(array.get());
  }
  if (fitting.empty()) return nullptr;
  return Percent(50) ? fitting.back() : Pick(fitting);  // Chains are what schedules work on.
}
Array* Draft::PickWritable(const std::function<bool(const Array&)>& fits) {
  return PickReadable(
      [&](const Array& array) { return array.filled == Array::Filled::kAll && (fits == nullptr || fits(array)); });
}
void Draft::EndShared() {
  shared.reset();
  for (const auto& array : arrays_) {
    if (array->filled == Array::Filled::kRowsSoFar) array->filled = Array::Filled::kAll;
  }
}

// ---- Statements

Stmt Draft::Store(Array& array, const Bounded& value, std::vector<Expr> indices) {
  const DataType type = array.buffer->dtype;
  if (array.bound < 0) array.bound = std::min(value.bound, Limit(type));
  array.is_written = true;
  return MakeStore(array.buffer, Clamp(Convert(value, type), array.bound).value, std::move(indices));
}

std::string Draft::BlockName() {
  if (Percent(5)) return "";
  if (Percent(25)) return Percent(50) ? "update" : "copy";
  return "block" + std::to_string(num_names_++);
}
Var Draft::NewVar(const char* name, DataType type) { return Var(name + std::to_string(num_vars_++), type); }
DataType Draft::IndexType() { return has_int64_loops_ && Percent(60) ? DataType::Int(64) : kIndexType; }

// ---- The whole

namespace {

bool IsPlain(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim.is_plain(); });
}
bool NamesAlone(const Shape& shape) { return std::find(shape.begin(), shape.end(), Dim{1, 0}) != shape.end(); }

}  // namespace

RandomProgram Draft::Finish() {
  Array* last = nullptr;
  for (const auto& array : arrays_) {
    if (array->is_written && IsPlain(array->shape)) last = array.get();
  }
  for (const auto& array : arrays_) {
    if (!IsPlain(array->shape)) continue;
    if (array.get() == last || Percent(array->is_read ? 15 : 90)) array->is_param = true;
  }
  if (symbol_) NewInput({{1, 0}}, ParamRole::Kind::kData);  // The symbol stands alone in some parameter's shape.
  RandomProgram program{.func = {.body = Evaluate{0}}, .is_symbolic = symbol_.has_value()};
  std::vector<Param> params;
  std::vector<Buffer> allocs;
  if (symbol_ && symbol_is_scalar_) {
    params.emplace_back(*symbol_);
    program.roles.push_back({.kind = ParamRole::Kind::kExtent});
  }
  const auto add = [&](const Buffer& buffer, const ParamRole& role) {
    params.emplace_back(buffer);
    program.roles.push_back(role);
  };
  for (const auto& [buffer, role] : index_buffers_) add(buffer, role);
  for (const auto& array : arrays_) {
    if (array->is_param)
      add(array->buffer, {.kind = array->role, .shape = array->shape, .limit = array->bound});
    else
      allocs.push_back(array->buffer);
  }
  if (symbol_ && !symbol_is_scalar_) {  // Whoever names it alone comes first.
    for (size_t i = 0; i < program.roles.size(); ++i) {
      if (!NamesAlone(program.roles[i].shape)) continue;
      std::rotate(program.roles.begin(), program.roles.begin() + i, program.roles.begin() + i + 1);
      std::rotate(params.begin(), params.begin() + i, params.begin() + i + 1);
      break;
    }
  }
  program.func = Complete(MakePrimFunc("main", params, MakeSeq(TakeStmts())), std::move(allocs));
  return program;
}

}  // namespace lathe
