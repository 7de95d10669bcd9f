#include "python/src/primitive_call.h"

#include <fmt/format.h>

#include <map>

#include "compiler/schedule/get_block.h"
#include "compiler/schedule/set_axis_separator.h"
#include "compiler/schedule/trace_map.h"
#include "python/src/cast.h"
#include "python/src/errors.h"
#include "python/src/sampled.h"

namespace lathe::python {
namespace {

// The arguments of one call, sorted into what an instruction keeps.
class ArgumentBinder {
 public:
  ArgumentBinder(Schedule& schedule, const Signature& row, const py::args& args, const py::kwargs& kwargs)
      : schedule_(schedule), row_(row), args_(args), kwargs_(kwargs) {}

  void Bind() {
    CheckNames();
    for (size_t i = 0; i < row_.arguments.size(); ++i)
      if (row_.arguments[i].keep == Keep::kInputs) FindNamedBlocks(i);
    for (const Argument& argument : row_.arguments) {
      if (argument.keep == Keep::kStar)
        BindStar();
      else
        BindOne(argument, Take(argument));
    }
    if (position_ < args_.size()) Fail(fmt::format("takes {} arguments, {} are given", position_, args_.size()));
    if (num_named_ < kwargs_.size()) Fail("an argument is given twice");
  }

  // Of the buffer whose layout has just been transformed.
  void SetSeparators() {
    const int index = int(std::get<int64_t>(attrs.at(0)));
    const BufferSide side = attrs.at(1) == Attr(int64_t{0}) ? BufferSide::kRead : BufferSide::kWrite;
    Check(SetAxisSeparator(schedule_, block_.value(), index, side, axis_separators), ErrorKind::kSchedule);
  }

  std::vector<TraceInput> inputs;
  std::vector<Attr> attrs;
  std::optional<Decision> decision;
  std::vector<int64_t> axis_separators;  // That an index map names beside its indices.

 private:
  [[noreturn]] void Fail(const std::string& why) const {
    throw Failure(ErrorKind::kType, fmt::format("{}: {}", SnakeCase(row_.kind), why));
  }
  [[noreturn]] void FailFor(const Argument& argument, py::handle given, std::string_view wanted) const {
    Fail(fmt::format("argument \"{}\" is {}; give {}", argument.name, py::cast<std::string>(py::repr(given)), wanted));
  }
  // TVM looks for it among the buffers that there are, and asserts.
  void CheckBufferNumber() const {
    const int64_t* index = attrs.size() < 2 ? nullptr : std::get_if<int64_t>(&attrs[attrs.size() - 2]);
    const bool is_read = attrs.back() == Attr(int64_t{0});
    const auto& regions = is_read ? LastBlock().reads : LastBlock().writes;
    if (index == nullptr || (*index >= 0 && size_t(*index) < regions.size())) return;
    throw Failure(ErrorKind::kBuffer, fmt::format("{}: block \"{}\": it has {} {} regions, index {} is not among them",
                                                  SnakeCase(row_.kind), LastBlock().name, regions.size(),
                                                  is_read ? "read" : "write", *index));
  }
  void CheckNames() const {
    std::vector<std::string_view> known;
    for (const Argument& argument : row_.arguments) known.push_back(argument.name);
    for (const auto& [name, value] : kwargs_) {
      const std::string text = py::cast<std::string>(name);
      const auto is_known = [&](const Argument& argument) {
        return argument.name == text || argument.in_traces == text;
      };
      if (std::none_of(row_.arguments.begin(), row_.arguments.end(), is_known))
        Fail(fmt::format("no argument is named \"{}\"; known: {}", text, fmt::join(known, ", ")));
    }
  }

  // What the call gives for `argument`; null where it is left out.
  py::object Take(const Argument& argument) {
    for (const std::string_view each : {argument.name, argument.in_traces}) {
      const py::str name(each.data(), each.size());
      if (each.empty() || !kwargs_.contains(name)) continue;
      ++num_named_;
      return kwargs_[name];
    }
    if (position_ < args_.size()) return args_[position_++];
    if (argument.fallback.empty()) Fail(fmt::format("argument \"{}\" is missing", argument.name));
    return py::object();
  }

  void BindStar() {
    for (; position_ < args_.size(); ++position_) inputs.push_back(ToInput(args_[position_]));
  }

  void BindOne(const Argument& argument, const py::object& given) {
    switch (argument.keep) {
      case Keep::kBlock:
        if (py::isinstance<LoopRV>(given)) FailFor(argument, given, "a block of this schedule or its name");
        [[fallthrough]];
      case Keep::kBlockOrLoop:
        inputs.push_back(ToBlock(argument, given));
        block_ = std::get_if<BlockRV>(&inputs.back()) != nullptr ? std::optional(std::get<BlockRV>(inputs.back()))
                                                                 : std::nullopt;
        return;
      case Keep::kLoop:
        if (!py::isinstance<LoopRV>(given)) FailFor(argument, given, "a loop of this schedule");
        inputs.emplace_back(py::cast<LoopRV>(given));
        return;
      case Keep::kInput:
        inputs.push_back(ToInput(given));
        return;
      case Keep::kItems:
        inputs.push_back(HoldsSampled(given) ? TraceInput(ToItems(given)) : ToInput(given));
        return;
      case Keep::kInputs:
        return BindList(argument, given);
      case Keep::kReadIndex:
      case Keep::kWriteIndex:
        attrs.push_back(BufferIndex(argument, given));
        return;
      case Keep::kBuffer:
        return BindBuffer(argument, given);
      case Keep::kIndexMap:
        inputs.emplace_back(WithKnownSampled(ToIndexMap(argument, given)));
        return;
      case Keep::kSide:
        inputs.push_back(ToSide(given));
        return;
      case Keep::kRanges:
        return BindRanges(argument, given);
      case Keep::kMapAttr:
        return BindMapAttr(argument, given);
      case Keep::kAttr:
      case Keep::kFlag:
        attrs.push_back(ToAttribute(argument, given));
        return;
      case Keep::kDecision:
        if (given && !given.is_none()) decision = ToDecision(argument, given);
        return;
      case Keep::kStar:
        return;
    }
  }

  // A function of the block's iter vars: a pair (begin, end) or one element for each of its dimensions, as many as iter
  // vars (TVM asks for that).
  void BindRanges(const Argument& argument, const py::object& given) {
    if (py::isinstance<IndexMap>(given)) return inputs.push_back(ToMapInput(py::cast<IndexMap>(given)));
    if (!given || !PyCallable_Check(given.ptr())) FailFor(argument, given, "a function of the block's iter vars");
    IndexMap map;
    py::list arguments;
    for (const IterVar& iter : LastBlock().iter_vars) {
      map.initial_indices.push_back(iter.var);
      arguments.append(Expr(iter.var));
    }
    std::vector<Expr> ends;
    const py::list ranges(given(*arguments));
    const bool is_flat = ranges.size() == 2 * map.initial_indices.size();  // As traces write them.
    for (py::handle range : ranges) {
      if (const std::optional<Expr> point = ToExpr(range)) {
        if (is_flat) {
          ends.push_back(*point);
          continue;
        }
        ends.insert(ends.end(), {*point, *point + Expr(1)});
        continue;
      }
      const bool is_pair = py::isinstance<py::sequence>(range) && py::len(range) == 2;
      if (!is_pair) throw Failure(ErrorKind::kValue, "annotate_buffer_access: expected (begin, end) of a dimension");
      for (py::handle end : range) ends.push_back(py::cast<Expr>(end));
    }
    map.final_indices = std::move(ends);
    inputs.push_back(ToMapInput(std::move(map)));
  }
  TraceInput ToMapInput(const IndexMap& map) const { return WithKnownSampled(map); }
  // Those of its free variables that this schedule has drawn.
  TraceMap WithKnownSampled(const IndexMap& map) const {
    TraceMap result(map);
    for (const Var& var : FreeVarsOf(map)) {
      const std::optional<VarRV> sampled = KnownSampled(Wrap(Expr(var)));
      if (sampled && schedule_.Get(ExprRV(*sampled)).ok()) result.sampled.emplace_back(var, *sampled);
    }
    return result;
  }
  // 0 or 1 for "read" or "write".
  TraceInput ToSide(const py::object& given) const {
    if (given.equal(py::str("read"))) return int64_t{0};
    return given.equal(py::str("write")) ? TraceInput(int64_t{1}) : ToInput(given);
  }

  void BindList(const Argument& argument, const py::object& given) {
    if (!given || given.is_none()) {
      if (argument.fallback.empty()) FailFor(argument, given, "a list");
      return;
    }
    const bool is_list = py::isinstance<py::sequence>(given) && !py::isinstance<py::str>(given);
    if (!is_list) {  // One alone, as TVM takes it for consumer_blocks.
      inputs.push_back(ToBlock(argument, given));
      return;
    }
    for (py::handle item : given) {
      const bool is_name = PyUnicode_Check(item.ptr());
      inputs.push_back(is_name ? TraceInput(named_.at(py::cast<std::string>(item))) : ToInput(item));
      if (PyFloat_Check(item.ptr())) FailForItem(argument, given, item);
    }
  }
  [[noreturn]] void FailForItem(const Argument& argument, py::handle list, py::handle item) const {
    const size_t index = py::cast<size_t>(list.attr("index")(item));
    Fail(fmt::format("{}[{}] is {}; give an integer", argument.name, index, py::cast<std::string>(py::repr(item))));
  }
  // As in TVM, blocks that a list names are looked for before the block itself.
  void FindNamedBlocks(size_t argument) {
    const std::string_view name = row_.arguments[argument].name;
    const py::str key(name.data(), name.size());
    const py::object given = kwargs_.contains(key)     ? py::object(kwargs_[key])
                             : argument < args_.size() ? py::object(args_[argument])
                                                       : py::none();
    if (!py::isinstance<py::sequence>(given) || py::isinstance<py::str>(given)) return;
    for (py::handle item : given)
      if (PyUnicode_Check(item.ptr()))
        named_.insert_or_assign(py::cast<std::string>(item), BlockOfName(py::cast<std::string>(item)));
  }

  BlockRV BlockOfName(const std::string& name) const { return Value(GetBlock(schedule_, name), ErrorKind::kSchedule); }
  TraceInput ToBlock(const Argument& argument, const py::object& given) {
    if (py::isinstance<py::sequence>(given) && !py::isinstance<py::str>(given)) {
      std::vector<BlockRV> blocks;
      for (py::handle item : given) {
        if (!py::isinstance<BlockRV>(item)) FailFor(argument, given, "a list of blocks");
        blocks.push_back(py::cast<BlockRV>(item));
      }
      return blocks;
    }
    if (py::isinstance<BlockRV>(given)) return py::cast<BlockRV>(given);
    if (py::isinstance<LoopRV>(given)) return py::cast<LoopRV>(given);
    if (py::isinstance<py::str>(given)) return BlockOfName(py::cast<std::string>(given));
    FailFor(argument, given, "a block of this schedule or its name");
  }

  TraceItems ToItems(py::handle list) const {
    return ItemsOf(list, [&](py::handle item) { return WithNumbers(schedule_, item); });
  }
  TraceInput ToInput(py::handle object) const {
    if (py::isinstance<BlockRV>(object)) return py::cast<BlockRV>(object);
    if (py::isinstance<LoopRV>(object)) return py::cast<LoopRV>(object);
    if (const std::optional<VarRV> var = KnownSampled(object)) return *var;
    if (object.is_none()) return TraceInput();
    const std::optional<Attr> attr = ToAttr(WithNumbers(schedule_, object));
    if (attr) {
      if (const int64_t* value = std::get_if<int64_t>(&*attr)) return *value;
      if (const std::string* value = std::get_if<std::string>(&*attr)) return *value;
      if (const auto* list = std::get_if<std::vector<Attr>>(&*attr)) {
        std::vector<int64_t> numbers;
        for (const Attr& item : *list)
          if (const int64_t* number = std::get_if<int64_t>(&item)) numbers.push_back(*number);
        if (numbers.size() == list->size()) return numbers;
      }
      return *attr;
    }
    Fail(fmt::format("{} is no handle of this schedule and no value", py::cast<std::string>(py::repr(object))));
  }

  Attr ToAttribute(const Argument& argument, const py::object& given) const {
    const bool is_given = given && !given.is_none();
    if (!is_given && argument.fallback.empty()) FailFor(argument, given, "a number, a string or a list of them");
    std::optional<Attr> attr = is_given ? ToAttr(given) : std::optional<Attr>(DefaultOf(argument));
    if (!attr) FailFor(argument, given, "a number, a string or a list of them");
    if (const bool* flag = std::get_if<bool>(&*attr)) return int64_t{*flag};
    return *std::move(attr);
  }

  // The number of a buffer, given itself or by name, among those that the block reads or writes.
  std::optional<int64_t> FindBuffer(py::handle given, bool is_read) const {
    const Buffer* buffer = UnwrapAs<Buffer>(given);
    const BlockRealize& realize = *Held(schedule_.Get(block_.value()));
    const auto& regions = is_read ? realize.block->reads : realize.block->writes;
    for (size_t i = 0; i < regions.size(); ++i) {
      const Buffer& candidate = regions[i].buffer;
      if (buffer != nullptr ? candidate.same_as(*buffer) : candidate->name == py::cast<std::string>(given))
        return static_cast<int64_t>(i);
    }
    return std::nullopt;
  }
  [[noreturn]] void FailForBuffer(py::handle given, std::string_view verb) const {
    const Buffer* buffer = UnwrapAs<Buffer>(given);
    const BlockRealize& realize = *Held(schedule_.Get(block_.value()));
    throw Failure(ErrorKind::kBuffer,
                  fmt::format("{}: block \"{}\" {} no buffer {}", SnakeCase(row_.kind), realize.block->name, verb,
                              buffer != nullptr ? (*buffer)->name : py::cast<std::string>(given)));
  }
  static bool IsBuffer(py::handle given) {
    return UnwrapAs<Buffer>(given) != nullptr || py::isinstance<py::str>(given);
  }

  Attr BufferIndex(const Argument& argument, const py::object& given) const {
    if (!IsBuffer(given)) return ToAttribute(argument, given);
    const bool is_read = argument.keep == Keep::kReadIndex;
    const std::optional<int64_t> index = FindBuffer(given, is_read);
    if (!index) FailForBuffer(given, is_read ? "reads" : "writes");
    return *index;
  }

  void BindBuffer(const Argument& argument, const py::object& given) {
    buffer_at_ = attrs.size();
    if (IsBuffer(given)) {
      const std::optional<int64_t> read = FindBuffer(given, true), written = FindBuffer(given, false);
      if (!read && !written) FailForBuffer(given, "reads and writes");
      // As in TVM: by its name what is written, itself what is read.
      const bool is_read = read && (!written || !py::isinstance<py::str>(given));
      attrs.insert(attrs.end(), {is_read ? *read : *written, int64_t{!is_read}});
      return;
    }
    const bool is_pair = py::isinstance<py::sequence>(given) && py::len(given) == 2;
    const py::object side = is_pair ? py::object(given[py::int_(0)]) : py::none();
    const bool is_read = is_pair && side.equal(py::str("read"));
    const char* known = "(\"read\", 0), (\"write\", 0), a buffer or its name";
    if (!is_pair) FailFor(argument, given, known);
    if (!is_read && !side.equal(py::str("write")))
      throw Failure(ErrorKind::kBuffer, fmt::format("{}: \"{}\" is no side of a block; give {}", SnakeCase(row_.kind),
                                                    py::cast<std::string>(py::str(side)), known));
    attrs.push_back(ToAttribute(argument, given[py::int_(1)]));
    attrs.push_back(int64_t{!is_read});
    CheckBufferNumber();
  }

  const BlockNode& LastBlock() const { return *Held(schedule_.Get(block_.value()))->block; }
  // The buffer that was named; nullptr if there is none.
  const Buffer* LastBuffer() const {
    const int64_t* index = buffer_at_ + 1 < attrs.size() ? std::get_if<int64_t>(&attrs[buffer_at_]) : nullptr;
    if (index == nullptr) return nullptr;
    const auto& regions = attrs[buffer_at_ + 1] == Attr(int64_t{0}) ? LastBlock().reads : LastBlock().writes;
    return *index < 0 || size_t(*index) >= regions.size() ? nullptr : &regions[size_t(*index)].buffer;
  }
  // What a function makes of indices: of the buffer that was named before, else of the block's iter vars. Remembers
  // where it puts separators.
  IndexMap MapOf(const py::object& function, size_t rank, DataType type) {
    const py::object maker =
        py::module_::import("lathe.tir.index_map").attr("IndexMap").attr("from_func_with_separators");
    const py::tuple made = maker(function, py::arg("ndim") = rank, py::arg("index_dtype") = type.ToString());
    axis_separators = py::cast<std::vector<int64_t>>(made[1]);
    return py::cast<IndexMap>(made[0]);
  }
  IndexMap ToIndexMap(const Argument& argument, const py::object& given) {
    if (py::isinstance<IndexMap>(given)) return Remember(py::cast<IndexMap>(given));
    if (!given || !PyCallable_Check(given.ptr())) FailFor(argument, given, "an IndexMap or a function of indices");
    const Buffer* buffer = LastBuffer();
    if (buffer != nullptr && !(*buffer)->shape.empty())
      return Remember(MapOf(given, (*buffer)->shape.size(), (*buffer)->shape[0].dtype()));
    const std::vector<IterVar>& iters = LastBlock().iter_vars;
    return Remember(MapOf(given, iters.size(), iters.empty() ? kIndexType : iters[0].var.dtype()));
  }
  IndexMap Remember(IndexMap map) {
    map_ = map;
    return map;
  }
  // A number of Python as a constant of `type`, of its kind; any other value as it is.
  static Expr OfType(DataType type, py::handle given, const Expr& value) {
    const bool is_int = PyLong_Check(given.ptr()) != 0, is_float = PyFloat_Check(given.ptr()) != 0;
    if ((is_int && type.is_float()) || (is_float && !type.is_float()))
      throw Failure(ErrorKind::kArgument, fmt::format("transform_layout: pad_value {} is no constant of {}",
                                                      py::cast<std::string>(py::repr(given)), type.ToString()));
    if (is_float) return FloatConst(type, py::cast<double>(given));
    return is_int && type.is_int() ? IntConst(type, py::cast<int64_t>(given)) : value;
  }
  void AddMap(IndexMap map) { attrs.emplace_back(std::make_shared<const IndexMap>(std::move(map))); }
  // A map, or what fills padding: a function of the last map's results, or a value of the last buffer's type.
  void BindMapAttr(const Argument& argument, const py::object& given) {
    if (!given || given.is_none()) {
      if (argument.fallback.empty()) FailFor(argument, given, "an IndexMap or a function of indices");
      attrs.emplace_back(std::monostate());
      return;
    }
    const bool is_map = py::isinstance<IndexMap>(given) || PyCallable_Check(given.ptr()) != 0;
    if (is_map && map_) {
      const std::vector<int64_t> separators = axis_separators;
      AddMap(py::isinstance<IndexMap>(given)
                 ? py::cast<IndexMap>(given)
                 : MapOf(given, map_->final_indices.size(), map_->initial_indices[0].dtype()));
      axis_separators = separators;
      return;
    }
    if (is_map) {
      AddMap(ToIndexMap(argument, given));
      return;
    }
    const Buffer* buffer = LastBuffer();
    const std::optional<Expr> value = ToExpr(given);
    if (!value || buffer == nullptr || !map_) FailFor(argument, given, "a number, an expression or a function");
    IndexMap filled = IndexMap::Identity(map_->final_indices.size());
    for (size_t d = 0; d < filled.initial_indices.size(); ++d)  // TVM's function is of *indices.
      filled.initial_indices[d] = Var(fmt::format("indices_{}", d), filled.initial_indices[d].dtype());
    filled.final_indices = {OfType((*buffer)->dtype, given, *value)};
    AddMap(std::move(filled));
  }

  Decision ToDecision(const Argument& argument, const py::object& given) const {
    const std::optional<Attr> attr = ToAttr(given);
    if (attr) {
      if (const int64_t* value = std::get_if<int64_t>(&*attr)) return *value;
      if (const auto* list = std::get_if<std::vector<Attr>>(&*attr)) {
        std::vector<int64_t> factors;
        for (const Attr& item : *list)
          if (const int64_t* factor = std::get_if<int64_t>(&item)) factors.push_back(*factor);
        if (factors.size() == list->size()) return factors;
      }
    }
    FailFor(argument, given, "a number or a list of numbers");
  }

  Schedule& schedule_;
  const Signature& row_;
  const py::args& args_;
  const py::kwargs& kwargs_;
  size_t position_ = 0, num_named_ = 0;
  std::map<std::string, BlockRV> named_;  // By lists.
  size_t buffer_at_ = ~size_t{1};         // Where the attributes of the buffer that was named begin.
  std::optional<IndexMap> map_;           // The last index map given.
  std::optional<BlockRV> block_;          // The last block given: what buffer names speak of.
};

template <typename RV>
void CheckHandle(const Schedule& schedule, RV& rv) {
  Held(schedule.RowOf(rv));
  rv.origin = 0;
}
// Handles that are stale, removed or of another schedule, before anything else. Those that are not stand in traces from
// now on, whoever runs them.
void CheckHandles(const Schedule& schedule, std::vector<TraceInput>& inputs) {
  for (TraceInput& input : inputs) {
    if (BlockRV* block = std::get_if<BlockRV>(&input)) CheckHandle(schedule, *block);
    if (auto* blocks = std::get_if<std::vector<BlockRV>>(&input))
      for (BlockRV& block : *blocks) CheckHandle(schedule, block);
    if (LoopRV* loop = std::get_if<LoopRV>(&input)) {
      if (!schedule.MarkOf(*loop)) CheckHandle(schedule, *loop);
      loop->origin = 0;
    }
    if (const VarRV* var = std::get_if<VarRV>(&input)) Held(schedule.Get(ExprRV(*var)));
  }
}

py::object HandleOf(const Schedule& schedule, char kind, int id) {
  if (kind == 'b') return py::cast(BlockRV{id, schedule.OriginOf(id)});
  if (kind == 'l') return py::cast(LoopRV{id, schedule.OriginOf(id)});
  return VarOfSampled(id);
}

// What the schedule refuses names the primitive; what does not fit the instruction does not.
Status WithName(const Status& status, const Signature& row) {
  const std::string name = SnakeCase(row.kind);
  const bool is_named = status.code() != StatusCode::kInvalidArgument || status.message().starts_with(name);
  return is_named ? status : status.WithContext(name);
}
// The class that TVM raises.
ErrorKind KindOf(StatusCode code, const Signature& row) {
  if (code == StatusCode::kInvalidArgument) return ErrorKind::kArgument;
  if (code == StatusCode::kOutOfRange) return ErrorKind::kCount;
  if (code != StatusCode::kNotFound) return ErrorKind::kSchedule;
  return row.kind == "Unannotate" ? ErrorKind::kAnnotation : ErrorKind::kFunction;
}

}  // namespace

py::object CallPrimitive(Schedule& schedule, const Signature& row, const py::args& args, const py::kwargs& kwargs) {
  const InstructionKind* kind = FindInstructionKind(row.kind);
  CHECK(kind != nullptr) << "a signature without a primitive: " << row.kind;
  ArgumentBinder binder(schedule, row, args, kwargs);
  binder.Bind();
  CheckHandles(schedule, binder.inputs);
  const StatusOr<std::vector<int>> ids =
      kind->apply(schedule, binder.inputs, binder.attrs, binder.decision ? &*binder.decision : nullptr);
  if (!ids.ok()) throw Failure(KindOf(ids.status().code(), row), WithName(ids.status(), row));
  if (!binder.axis_separators.empty()) binder.SetSeparators();
  if (kind->output == '-') return py::none();
  if (!row.returns_list) return HandleOf(schedule, kind->output, ids->at(0));
  py::list handles;
  for (int id : *ids) handles.append(HandleOf(schedule, kind->output, id));
  return handles;
}

}  // namespace lathe::python
