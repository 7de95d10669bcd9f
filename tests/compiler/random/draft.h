// A random program under construction: what stages draw from and add to. Private to this folder.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/compiler/random/program.h"

namespace lathe {

// A number and what it is at most in absolute value.
struct Bounded {
  Expr value;
  int64_t bound;
};

// A buffer and what stages may do with it.
struct Array {
  Buffer buffer;
  Shape shape;
  int64_t bound = -1;  // Of its elements; -1 until something is stored.
  enum class Filled : uint8_t {
    kNothing,    // Not to be read yet.
    kRowsSoFar,  // Made in the shared loop at work: rows up to the current one.
    kAll,
  } filled = Filled::kNothing;
  ParamRole::Kind role = ParamRole::Kind::kData;  // kOutput: made by the program.
  bool is_param = false;
  bool is_written = false, is_read = false;
};

// The value of a block's axis, in [0, extent).
struct Point {
  Expr index;
  Dim extent;
};

// A loop around several stages. The first axis of each stage inside is `row`.
struct SharedLoop {
  Expr row;  // The loop variable, or a let of it.
  Dim extent;
};

class Draft {
 public:
  explicit Draft(uint64_t seed);

  // ---- Chance
  uint64_t Below(uint64_t n) { return random_.Below(n); }
  bool Percent(uint64_t chance) { return random_.Below(100) < chance; }
  template <typename T>
  const T& Pick(const std::vector<T>& list) {
    return list[Below(list.size())];
  }

  // ---- Extents
  Dim RandomDim();
  Shape RandomShape();
  Expr ToExpr(const Dim& dim) const;
  bool CertainlyLess(int64_t value, const Dim& dim) const { return value < dim.At(1); }  // The symbol is at least 1.
  const std::optional<Var>& symbol() const { return symbol_; }

  // ---- Arrays
  const Array* being_written = nullptr;  // By the block under construction, which does not read it unless it says so.
  DataType type() const { return type_; }
  DataType RandomType();                               // Mostly the program's.
  Array& NewArray(const Shape& shape, DataType type);  // An intermediate or output, to be filled by the caller.
  Array& NewInput(Shape shape, ParamRole::Kind role);
  // A buffer of indices below `indexed`: one that fits, or a new one.
  Buffer IndexBuffer(const Dim& length, const Dim& indexed, bool is_permutation);
  Array* PickReadable(const std::function<bool(const Array&)>& fits = nullptr);  // nullptr: there is none.
  Array* PickWritable(const std::function<bool(const Array&)>& fits = nullptr);  // Already filled.

  // ---- Values
  static int64_t Limit(DataType type);  // Up to which integers are exact, with room for a sum.
  Bounded Constant(DataType type, int64_t value);
  Bounded Clamp(const Bounded& a, int64_t bound);
  Bounded Convert(const Bounded& a, DataType type);
  Bounded Combine(const Bounded& a, const Bounded& b);
  Bounded Unary(const Bounded& a);
  // The element of `array` at indices made from `points` in one of many ways, as `type`.
  Bounded Read(Array& array, const std::vector<Point>& points, DataType type);
  // A value from one or two arrays.
  Bounded RandomValue(const std::vector<Point>& points, DataType type);
  Expr ReadIndex(const Dim& dim, const std::vector<Point>& points, size_t d, bool rows_so_far);

  // ---- Statements
  Stmt Store(Array& array, const Bounded& value, std::vector<Expr> indices);  // Clamped to what the array holds.
  std::string BlockName();                                                    // Not always a new one, sometimes none.
  Var NewVar(const char* name, DataType type = kIndexType);
  DataType IndexType();  // int64 in some programs.
  void Add(Stmt stmt) { stmts_.push_back(std::move(stmt)); }
  std::vector<Stmt> TakeStmts() { return std::exchange(stmts_, {}); }
  void PutBack(std::vector<Stmt> stmts) { stmts_ = std::move(stmts); }
  std::optional<SharedLoop> shared;
  void EndShared();  // What was made row by row is whole.

  RandomProgram Finish();

 private:
  Expr ConstantDimIndex(const Dim& dim, const std::vector<Point>& points, size_t d);
  Expr SymbolicDimIndex(const Dim& dim, const Point& point);
  Expr Gathered(const Dim& dim, const Point& point);

  Random random_;
  DataType type_;
  bool has_int64_loops_ = false, symbol_is_scalar_ = false;
  std::optional<Var> symbol_;
  std::vector<std::unique_ptr<Array>> arrays_;
  std::vector<std::pair<Buffer, ParamRole>> index_buffers_;
  std::vector<Stmt> stmts_;
  int num_names_ = 0, num_vars_ = 0, num_arrays_ = 0;
};

}  // namespace lathe
