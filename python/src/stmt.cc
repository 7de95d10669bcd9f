// Constructors of statements, blocks, buffers and ranges.
#include "compiler/ir/stmt.h"

#include <fmt/format.h>

#include "compiler/arith/match_region.h"
#include "compiler/arith/simplifier.h"
#include "compiler/ir/buffer_access.h"
#include "compiler/ir/memory.h"
#include "compiler/script/checked_expr.h"
#include "compiler/script/printer.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"

namespace lathe::python {
namespace {

Expr Integer(const char* what, const Expr& e) {
  if (!e.dtype().is_int() || !e.dtype().is_scalar())
    throw Failure(ErrorKind::kTvm, fmt::format("{}: expected an integer, got {}", what,
                                               e.As<StringImm>() != nullptr ? "a string" : e.dtype().ToString()));
  return e;
}
Expr Condition(const char* what, const Expr& e) {
  StatusOr<Expr> condition = ConvertExpr(DataType::Bool(), TruthOf(e));
  if (!condition.ok()) throw Failure(ErrorKind::kTvm, condition.status().WithContext(what));
  return *condition;
}

Range RangeOfEnds(const Expr& begin, const Expr& end) {
  return {begin, Integer("Range", end) - Integer("Range", begin)};
}

// TVM's numbers of iteration kinds (reflect.cc writes them).
IterKind IterKindOf(int number) {
  constexpr IterKind kKinds[] = {IterKind::kSpatial,    IterKind::kThreadIndex,  IterKind::kReduce,
                                 IterKind::kScan,       IterKind::kOpaque,       IterKind::kUnrolled,
                                 IterKind::kVectorized, IterKind::kParallelized, IterKind::kTensorized};
  if (number < 0 || number >= static_cast<int>(std::size(kKinds)))
    throw Failure(ErrorKind::kValue, fmt::format("IterVar: no kind has number {}", number));
  return kKinds[number];
}

// Without a domain nothing is known of the values.
IterVar MakeIterVar(const std::optional<Range>& dom, const Var& var, int kind, const std::string& thread_tag) {
  if (dom && dom->extent.dtype() != var.dtype())
    throw Failure(ErrorKind::kTvm, fmt::format("IterVar: expected a variable of the domain's type {}, got {}",
                                               dom->extent.dtype().ToString(), var.dtype().ToString()));
  return {dom.value_or(Range{0, 0}), var, thread_tag.empty() ? IterKindOf(kind) : IterKind::kThreadIndex, thread_tag};
}

CommReducer MakeReducer(const std::vector<Var>& lhs, const std::vector<Var>& rhs, const std::vector<Expr>& result,
                        const std::vector<Expr>& identity) {
  if (rhs.size() != lhs.size() || result.size() != lhs.size() || identity.size() != lhs.size())
    throw Failure(ErrorKind::kTvm, fmt::format("CommReducer: expected {} variables, results and identities, got {}, {} "
                                               "and {}",
                                               lhs.size(), rhs.size(), result.size(), identity.size()));
  return {lhs, rhs, result, identity};
}

AttrMap ToAttrs(const py::dict& items) {
  AttrMap attrs;
  for (const auto& [key, value] : items) {
    const std::optional<Attr> attr = ToAttr(value, NumberTypes::kKept);
    if (!attr)
      throw Failure(
          ErrorKind::kType,
          fmt::format("annotation \"{}\": expected a number, a string, an expression, None, or a list or dict "
                      "of them",
                      py::cast<std::string>(py::str(key))));
    attrs.insert_or_assign(py::cast<std::string>(py::str(key)), *attr);
  }
  return attrs;
}

Stmt MakeForNode(const Var& var, const Expr& min, const Expr& extent, int kind, const Stmt& body,
                 const py::object& thread, const py::dict& annotations) {
  if (kind < 0 || kind > 4) throw Failure(ErrorKind::kValue, fmt::format("For: no loop kind has number {}", kind));
  std::string tag;
  if (!thread.is_none()) tag = py::cast<std::string>(thread.attr("thread_tag"));
  Integer("For", var);
  const auto of_type = [&](const Expr& e) {
    if (e.As<IntImm>() != nullptr) return Value(ConvertExpr(var.dtype(), e));
    if (e.dtype() != var.dtype())
      throw Failure(ErrorKind::kMismatch, fmt::format("For: expected begin and extent of {}'s type {}, got {}",
                                                      var.name(), var.dtype().ToString(), e.dtype().ToString()));
    return e;
  };
  return For{var,
             of_type(Integer("For", min)),
             of_type(Integer("For", extent)),
             static_cast<ForKind>(kind),
             tag,
             ToAttrs(annotations),
             body};
}

Expr MakeLoad(const Buffer& buffer, const std::vector<Expr>& indices) {
  if (indices.size() != buffer->shape.size())
    throw Failure(ErrorKind::kTvm, fmt::format("BufferLoad: buffer {} has {} dimensions, got {} indices", buffer->name,
                                               buffer->shape.size(), indices.size()));
  for (size_t i = 0; i + 1 < indices.size(); ++i) {
    if (!indices[i].dtype().is_scalar())
      throw Failure(ErrorKind::kTvm,
                    fmt::format("BufferLoad: expected a vector as last index of {} only, got {} before", buffer->name,
                                indices[i].dtype().ToString()));
  }
  return Load(buffer, indices);
}

// A boolean for each lane of the last index.
std::optional<Expr> Predicate(const char* what, const py::object& given, const std::vector<Expr>& indices) {
  if (given.is_none()) return std::nullopt;
  const Expr predicate = py::cast<Expr>(given);
  const DataType type = predicate.dtype(), index = indices.empty() ? kIndexType : indices.back().dtype();
  const bool is_boolean = type.is_bool() || (type.is_int() && type.bits == 1);
  if (!is_boolean || !type.has_shape_of(index))
    throw Failure(ErrorKind::kTvm, fmt::format("{}: expected a boolean for each lane of {} as predicate, got {}", what,
                                               index.ToString(), type.ToString()));
  return predicate;
}

Stmt MakeStoreNode(const Buffer& buffer, const Expr& value, const std::vector<Expr>& indices,
                   const py::object& predicate) {
  const Expr place = MakeLoad(buffer, indices);
  if (value.dtype() != place.dtype())
    throw Failure(ErrorKind::kType,
                  fmt::format("BufferStore: dtype mismatch: {} at these indices takes {}, got {}; cast the value",
                              buffer->name, place.dtype().ToString(), value.dtype().ToString()));
  return BufferStore{buffer, value, indices, Predicate("BufferStore", predicate, indices)};
}

Block MakeBlock(const std::vector<IterVar>& iter_vars, const std::vector<BufferRegion>& reads,
                const std::vector<BufferRegion>& writes, const std::string& name, const Stmt& body,
                const std::optional<Stmt>& init, const std::vector<Buffer>& alloc_buffers,
                const std::vector<MatchBufferRegion>& match_buffers, const py::dict& annotations) {
  BlockNode node{.body = body};
  node.name = name;
  node.iter_vars = iter_vars;
  node.reads = reads;
  node.writes = writes;
  node.alloc_buffers = alloc_buffers;
  node.match_buffers = match_buffers;
  node.annotations = ToAttrs(annotations);
  node.init = init;
  return Block(std::move(node));
}

Stmt MakeRealize(const std::vector<Expr>& iter_values, const Expr& predicate, const Block& block) {
  if (iter_values.size() != block->iter_vars.size())
    throw Failure(ErrorKind::kTvm, fmt::format("BlockRealize: block \"{}\" has {} iter vars, got {} values",
                                               block->name, block->iter_vars.size(), iter_values.size()));
  return BlockRealize{iter_values, Condition("BlockRealize", predicate), block};
}

// A vector of as many numbers as `vector` has from `indices` on, along the last dimension.
Expr VectorAt(const Buffer& buffer, std::vector<Expr> indices, DataType vector) {
  if (indices.empty() || vector.lanes % buffer->dtype.lanes != 0)
    throw Failure(ErrorKind::kTvm, fmt::format("vload: expected whole elements of {}, got {} lanes",
                                               buffer->dtype.ToString(), vector.lanes));
  if (vector.element() != buffer->dtype.element())
    throw Failure(ErrorKind::kMismatch, fmt::format("vload, vstore: expected numbers of {}, got {}",
                                                    buffer->dtype.ToString(), vector.ToString()));
  const DataType type = indices.back().dtype();
  DataType index = type.shaped_as(vector);
  index.lanes = static_cast<uint16_t>(vector.lanes / buffer->dtype.lanes);
  if (!index.is_scalar() && type.is_scalar())
    indices.back() = Expr::Make(index, Ramp{indices.back(), IntConst(type, 1), index.lanes});
  return MakeLoad(buffer, indices);
}

// One index of Python: a place, or what a slice covers.
struct Part {
  Range range;
  bool is_slice = false;
  std::optional<int64_t> step;  // Where one is said.
};
Part PartOf(const py::object& index, const Expr& extent) {
  if (!PySlice_Check(index.ptr())) {
    const Expr place = py::cast<Expr>(index);
    return {{place, IntConst(place.dtype().element(), 1)}};
  }
  const py::object start = index.attr("start"), stop = index.attr("stop"), step = index.attr("step");
  Part part{
      RangeOfEnds(start.is_none() ? Expr(0) : py::cast<Expr>(start), stop.is_none() ? extent : py::cast<Expr>(stop)),
      true};
  part.range.extent = Simplifier().Simplify(part.range.extent);
  if (!step.is_none()) part.step = py::cast<int64_t>(step);
  return part;
}

// The places of a slice with a step.
Expr LanesOf(const Part& part) {
  if (!part.is_slice) return part.range.min;
  const int64_t* extent = AsIntConst(part.range.extent);
  const int64_t step = part.step.value_or(1);
  if (extent == nullptr || step < 1)
    throw Failure(ErrorKind::kValue, "a slice with a step has a constant length and a step from 1 on");
  const int64_t lanes = (*extent + step - 1) / step;
  if (lanes < 1 || lanes > kMaxLanes)
    throw Failure(ErrorKind::kValue, fmt::format("a slice has 1 to {} places, got {}", kMaxLanes, lanes));
  if (lanes == 1) return part.range.min;
  DataType type = part.range.min.dtype();
  type.lanes = static_cast<uint16_t>(lanes);
  return Expr::Make(type, Ramp{part.range.min, IntConst(part.range.min.dtype(), step), type.lanes});
}

// Python's A[i, 0:4]: a region where slices, or dimensions that are not named, are among the indices; else, and where a
// slice has a step, a load.
py::object GetItem(const Buffer& buffer, const py::tuple& indices) {
  const std::vector<Expr>& shape = buffer->shape;
  if (indices.size() > shape.size())
    throw Failure(ErrorKind::kTvm, fmt::format("buffer {} has {} dimensions, got {} indices", buffer->name,
                                               shape.size(), indices.size()));
  std::vector<Part> parts;
  for (size_t i = 0; i < indices.size(); ++i) parts.push_back(PartOf(indices[i], shape[i]));
  for (size_t i = parts.size(); i < shape.size(); ++i) parts.push_back({{Expr(0), shape[i]}, true});
  const bool has_step = std::any_of(parts.begin(), parts.end(), [](const Part& part) { return part.step.has_value(); });
  const bool has_slice = std::any_of(parts.begin(), parts.end(), [](const Part& part) { return part.is_slice; });
  if (has_slice && !has_step) {
    BufferRegion region{buffer, {}};
    for (const Part& part : parts) region.region.push_back(part.range);
    return Wrap(std::move(region));
  }
  std::vector<Expr> points;
  for (const Part& part : parts) points.push_back(LanesOf(part));
  return Wrap(MakeLoad(buffer, points));
}

void CheckSeparators(const std::vector<int64_t>& separators, size_t num_dims) {
  int64_t last = 0;
  for (const int64_t separator : separators) {
    if (separator < last || separator > static_cast<int64_t>(num_dims))
      throw Failure(
          ErrorKind::kValue,
          fmt::format("Buffer: expected increasing axis_separators of {} dimensions, got {}", num_dims, separator));
    last = separator;
  }
}

// scope "", buffer_type "" and promises below 1 mean TVM's defaults; an offset factor asks for an offset.
Buffer MakeBufferNode(const std::vector<Expr>& shape, DataType dtype, const std::string& name,
                      const std::optional<Var>& data, const std::vector<Expr>& strides,
                      const std::optional<Expr>& elem_offset, const std::string& scope, int64_t data_alignment,
                      int64_t offset_factor, const std::string& buffer_type,
                      const std::vector<int64_t>& axis_separators) {
  for (const Expr& extent : shape) Integer("Buffer", extent);
  for (const Expr& stride : strides) Integer("Buffer", stride);
  CheckSeparators(axis_separators, shape.size());
  BufferNode node{.name = name, .dtype = dtype, .shape = shape, .strides = strides};
  if (data) node.data = *data;
  if (!scope.empty()) node.scope = scope;
  if (data && data->pointer() != nullptr) node.scope = data->pointer()->scope;
  if (data_alignment > 0) node.data_alignment = data_alignment;
  if (offset_factor > 0) node.offset_factor = offset_factor;
  if (elem_offset) node.elem_offset = Integer("Buffer", *elem_offset);
  if (!elem_offset && offset_factor > 0)
    node.elem_offset = Var(name + "_elem_offset", shape.empty() ? kIndexType : shape[0].dtype());
  if (buffer_type == "auto_broadcast" || buffer_type == "auto") node.buffer_type = BufferType::kAutoBroadcast;
  node.axis_separators = axis_separators;
  return Buffer(std::move(node));
}

AttrTarget ToTarget(const py::object& node) {
  if (const Buffer* buffer = UnwrapAs<Buffer>(node)) return *buffer;
  if (const IterVar* axis = UnwrapAs<IterVar>(node)) return *axis;
  const std::optional<Attr> value = ToAttr(node);
  if (!value)
    throw Failure(ErrorKind::kType, "AttrStmt: expected a buffer, an iter var, an expression or an attribute's value");
  return *value;
}

Var Handle(const char* what, const Var& var) {
  if (var.dtype() != DataType::Handle())
    throw Failure(ErrorKind::kTvm, fmt::format("{}: expected a handle, got {}", what, var.dtype().ToString()));
  return var;
}

// What points to elements of this type; a boolean is a byte in memory.
Var PointerTo(const char* what, const Var& var, DataType type) {
  const PointerType* pointer = Handle(what, var).pointer();
  const bool is_byte = pointer != nullptr && type.is_bool() && pointer->element == DataType::Int(8);
  if (pointer == nullptr || (pointer->element != type && !is_byte))
    throw Failure(ErrorKind::kTvm, fmt::format("{}: expected a pointer to {}, got {}", what, type.ToString(),
                                               pointer == nullptr ? "an untyped handle" : pointer->element.ToString()));
  return var;
}

void CheckBounds(const char* what, const Buffer& buffer, const std::vector<Range>& bounds) {
  if (bounds.size() != buffer->shape.size())
    throw Failure(ErrorKind::kTvm, fmt::format("{}: buffer {} has {} dimensions, got {} ranges", what, buffer->name,
                                               buffer->shape.size(), bounds.size()));
}

// TVM keeps the scope of a realized buffer in an attribute around it, here the node says it.
std::optional<Stmt> WithRealizeScope(const AttrTarget& target, const std::string& key, const Expr& value,
                                     const Stmt& body) {
  const Buffer* buffer = std::get_if<Buffer>(&target);
  const BufferRealize* realize = body.As<BufferRealize>();
  const StringImm* scope = value.As<StringImm>();
  if (key != "realize_scope" || buffer == nullptr || realize == nullptr || scope == nullptr) return std::nullopt;
  if (!buffer->same_as(realize->buffer)) return std::nullopt;
  BufferRealize scoped = *realize;
  scoped.storage_scope = scope->value;
  return scoped;
}

// A thread that is launched runs over as much as is said here: a domain that was left out is that.
AttrTarget WithLaunchedDomain(AttrTarget target, const std::string& key, const Expr& value) {
  IterVar* axis = std::get_if<IterVar>(&target);
  const bool launches = key == "thread_extent" || key == "virtual_thread";
  if (axis == nullptr || !launches || !IsConstInt(axis->domain.extent, 0) || value.dtype() != axis->var.dtype())
    return target;
  axis->domain = {IntConst(value.dtype(), 0), value};
  return target;
}

void BindMemory(py::module_& module) {
  module.def("Buffer", &MakeBufferNode);
  module.def("AttrStmt",
             [](const py::object& node, const std::string& key, const Expr& value, const Stmt& body) -> Stmt {
               AttrTarget target = WithLaunchedDomain(ToTarget(node), key, value);
               if (std::optional<Stmt> scoped = WithRealizeScope(target, key, value, body)) return *scoped;
               return AttrStmt{key, value, std::move(target), body};
             });
  module.def(
      "BufferRealize",
      [](const Buffer& buffer, const std::vector<Range>& bounds, const Expr& condition, const Stmt& body) -> Stmt {
        CheckBounds("BufferRealize", buffer, bounds);
        return BufferRealize{buffer, bounds, Condition("BufferRealize", condition), "", body};
      });
  module.def("Prefetch", [](const Buffer& buffer, const std::vector<Range>& bounds) -> Stmt {
    CheckBounds("Prefetch", buffer, bounds);
    return Prefetch{buffer, bounds};
  });
  module.def("Allocate",
             [](const Var& var, DataType type, const std::vector<Expr>& extents, const Expr& condition,
                const Stmt& body, const py::dict& annotations) -> Stmt {
               return Allocate{PointerTo("Allocate", var, type),
                               type,
                               extents,
                               Condition("Allocate", condition),
                               ToAttrs(annotations),
                               body};
             });
  module.def("AllocateConst",
             [](const Var& var, DataType type, const std::vector<Expr>& extents, const std::vector<Expr>& data,
                const Stmt& body, const py::dict& annotations) -> Stmt {
               return AllocateConst{
                   PointerTo("AllocateConst", var, type), type, extents, data, ToAttrs(annotations), body};
             });
  module.def("AllocBuffer", [](const Buffer& buffer, const Stmt& body) { return SplitAllocBuffer({buffer, body}); });
  module.def("DeclBuffer", [](const Buffer& buffer, const Stmt& body) -> Stmt { return DeclBuffer{buffer, body}; });
}

void BindStatements(py::module_& module) {
  module.def("For", &MakeForNode);
  module.def("While", [](const Expr& condition, const Stmt& body) -> Stmt {
    return While{Condition("While", condition), body};
  });
  module.def("LetStmt", [](const Var& var, const Expr& value, const Stmt& body) -> Stmt {
    if (value.dtype() != var.dtype())
      throw Failure(ErrorKind::kMismatch, fmt::format("LetStmt: \"{}\" is of type {}, its value of {}; cast the value",
                                                      var.name(), var.dtype().ToString(), value.dtype().ToString()));
    return LetStmt{value, var, body};
  });
  module.def("BufferStore", &MakeStoreNode);
  module.def("AssertStmt", [](const Expr& condition, const Expr& message, const Stmt& body) -> Stmt {
    const StringImm* text = message.As<StringImm>();
    if (text == nullptr && !message.dtype().is_int())
      throw Failure(ErrorKind::kType, "AssertStmt: expected a text as message, got " + Print(message));
    return AssertStmt{Condition("AssertStmt", condition), text == nullptr ? Print(message) : text->value, body};
  });
  module.def("IfThenElse",
             [](const Expr& condition, const Stmt& then_case, const std::optional<Stmt>& else_case) -> Stmt {
               return IfThenElse{Condition("IfThenElse", condition), then_case, else_case};
             });
  module.def("SeqStmt", [](const std::vector<Stmt>& stmts) {
    if (stmts.empty()) throw Failure(ErrorKind::kTvm, "SeqStmt: expected at least one statement");
    return MakeSeq(stmts);
  });
  module.def("Evaluate", [](const Expr& value) -> Stmt { return Evaluate{value}; });
  module.def("BlockRealize", &MakeRealize);
  module.def("Block", &MakeBlock);
}

}  // namespace

void BindStmt(py::module_& module) {
  BindStatements(module);
  BindMemory(module);
  module.def("BufferLoad", [](const Buffer& buffer, const std::vector<Expr>& indices, const py::object& predicate) {
    const Expr load = MakeLoad(buffer, indices);
    return Expr::Make(load.dtype(), BufferLoad{buffer, indices, Predicate("BufferLoad", predicate, indices)});
  });
  module.def("buffer_scope", [](const Buffer& buffer) { return buffer->scope; });
  module.def("buffer_offset_of", [](const Buffer& buffer, const std::vector<Expr>& indices) {
    MakeLoad(buffer, indices);  // For what it refuses.
    std::vector<Expr> offset = OffsetOf(buffer, indices);
    Simplifier simplifier;
    for (Expr& each : offset) each = simplifier.Simplify(each);
    return MakeArray(py::cast(offset));
  });
  module.def("buffer_flat", &FlatView);
  module.def("buffer_access_ptr", [](const Buffer& buffer, int64_t mask, DataType type, int64_t lanes,
                                     const Expr& offset, const std::optional<Expr>& extent) {
    if (lanes < 1) throw Failure(ErrorKind::kValue, "access_ptr: expected content_lanes of at least 1");
    return AccessPtr(buffer, mask, type, lanes, offset, extent);
  });
  module.def("buffer_vector_at", &VectorAt);
  module.def("buffer_getitem", &GetItem);
  module.def("Range", [](const Expr& min, const Expr& extent) {
    return Range{Integer("Range", min), Integer("Range", extent)};
  });
  module.def("range_of_ends", &RangeOfEnds);
  module.def("BufferRegion", [](const Buffer& buffer, const std::vector<Range>& region) {
    CheckBounds("BufferRegion", buffer, region);
    return BufferRegion{buffer, region};
  });
  module.def("MatchBufferRegion", [](const Buffer& buffer, const BufferRegion& source) {
    Check(CheckMatch(buffer, source));
    return MatchBufferRegion{buffer, source};
  });
  module.def("IterVar", &MakeIterVar);
  module.def("CommReducer", &MakeReducer);
}

}  // namespace lathe::python
