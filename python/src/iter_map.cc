// arith: iter maps, and tir.IndexMap.
#include "compiler/arith/iter_map.h"

#include <fmt/format.h>

#include "compiler/arith/array_places.h"
#include "compiler/arith/index_map.h"
#include "compiler/arith/region_bound.h"
#include "compiler/script/index_map_text.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"

namespace lathe::python {
namespace {

using PyMark = std::shared_ptr<IterMark>;

// TVM's numbers of levels.
IterMapLevel LevelOf(const py::object& level) {
  const int number = py::cast<int>(py::int_(level));
  if (number == 0) return IterMapLevel::kBijective;
  return number == 1 ? IterMapLevel::kSurjective : IterMapLevel::kNoCheck;
}

IterDomain ToDomain(const py::dict& iters) {
  IterDomain domain;
  for (const auto& [key, value] : iters) domain.emplace_back(py::cast<Var>(key), py::cast<Range>(value));
  return domain;
}

// An iter map as TVM returns it: without indices, and with the reason, where there is none.
struct DetectResult {
  std::vector<IterSumExpr> indices;
  std::optional<Expr> padding_predicate;
  std::vector<std::string> errors;
};

DetectResult Detect(const std::vector<Expr>& indices, const py::dict& iters, const Expr& predicate,
                    const py::object& level, bool simplify_trivial) {
  StatusOr<IterMapResult> map =
      DetectIterMap(indices, ToDomain(iters), predicate, {LevelOf(level), simplify_trivial}, Analyzer());
  if (!map.ok()) return {{}, std::nullopt, {map.status().message()}};
  return {map->indices, map->padding_predicate, {}};
}

// Pairs of marks, and a last pair with the predicates as extents; empty where the space cannot be divided.
py::list DivideSubspace(const std::vector<Expr>& bindings, const py::dict& iters, const std::vector<Var>& sub_iters,
                        const Expr& predicate, const py::object& level, bool simplify_trivial) {
  const StatusOr<SubspaceDivision> division =
      SubspaceDivide(bindings, ToDomain(iters), sub_iters, predicate, {LevelOf(level), simplify_trivial}, Analyzer());
  py::list pairs;
  if (!division.ok()) return pairs;
  const auto pair = [&](const IterMark& outer, const IterMark& inner) {
    pairs.append(
        MakeArray(py::list(py::make_tuple(std::make_shared<IterMark>(outer), std::make_shared<IterMark>(inner)))));
  };
  for (const DividedIter& binding : division->bindings) pair(binding.outer, binding.inner);
  pair(IterMark{IterSumExpr(), division->outer_predicate}, IterMark{IterSumExpr(), division->inner_predicate});
  return pairs;
}

py::object VarsToPython(const VarMap& vars, const std::vector<Expr>& order) {
  py::dict items;
  for (const Expr& var : order) {
    const auto found = vars.find(var.get());
    if (found != vars.end()) items[Wrap(var)] = Wrap(found->second);
  }
  return MakeMap(items);
}

// The input variables that the sums are made of, in order of appearance.
void CollectVars(const IterSumExpr& sum, std::vector<Expr>& vars) {
  for (const IterSplitExpr& split : sum.args) {
    if (const Expr* var = std::get_if<Expr>(&split.source->source)) {
      const Binary* from_min = var->As<Binary>();  // A variable less its minimum.
      vars.push_back(from_min == nullptr ? *var : from_min->a);
    } else {
      CollectVars(std::get<IterSumExpr>(split.source->source), vars);
    }
  }
}

py::object Inverse(const std::vector<IterSumExpr>& map, const std::vector<Expr>& outputs) {
  std::vector<Expr> vars;
  for (const IterSumExpr& sum : map) CollectVars(sum, vars);
  return VarsToPython(Value(InverseAffineIterMap(map, outputs, Analyzer())), vars);
}

void BindIterNodes(py::module_& module) {
  py::class_<IterMark, PyMark>(module, "IterMark")
      .def(py::init([](const std::variant<IterSumExpr, Expr>& source, const Expr& extent) {
             const auto* sum = std::get_if<IterSumExpr>(&source);
             return sum != nullptr ? IterMark{*sum, extent} : IterMark{std::get<Expr>(source), extent};
           }),
           py::arg("source"), py::arg("extent"))
      .def_property_readonly("source",
                             [](const IterMark& mark) {
                               return std::visit([](const auto& source) { return py::cast(source); }, mark.source);
                             })
      .def_readonly("extent", &IterMark::extent)
      .def("__repr__", [](const IterMark& mark) { return py::str(Wrap(ToExpr(mark, Analyzer()))); });
  py::class_<IterSplitExpr>(module, "IterSplitExpr")
      .def(py::init([](const PyMark& source, const Expr& lower, const Expr& extent, const Expr& scale) {
             return IterSplitExpr{source, lower, extent, scale};
           }),
           py::arg("source"), py::arg("lower_factor"), py::arg("extent"), py::arg("scale"))
      .def_property_readonly("source",
                             [](const IterSplitExpr& split) { return std::const_pointer_cast<IterMark>(split.source); })
      .def_readonly("lower_factor", &IterSplitExpr::lower_factor)
      .def_readonly("extent", &IterSplitExpr::extent)
      .def_readonly("scale", &IterSplitExpr::scale)
      .def("__repr__", [](const IterSplitExpr& split) { return py::str(Wrap(ToExpr(split, Analyzer()))); });
  py::class_<IterSumExpr>(module, "IterSumExpr")
      .def(py::init([](const std::vector<IterSplitExpr>& args, const Expr& base) { return IterSumExpr{args, base}; }),
           py::arg("args"), py::arg("base"))
      .def_property_readonly("args", [](const IterSumExpr& sum) { return MakeArray(py::cast(sum.args)); })
      .def_readonly("base", &IterSumExpr::base)
      .def_property_readonly("dtype", &IterSumExpr::dtype)
      .def("__repr__", [](const IterSumExpr& sum) { return py::str(Wrap(ToExpr(sum, Analyzer()))); });
  py::class_<DetectResult>(module, "IterMapResult")
      .def_property_readonly("indices", [](const DetectResult& r) { return MakeArray(py::cast(r.indices)); })
      .def_readonly("errors", &DetectResult::errors)
      .def_property_readonly(
          "padding_predicate",
          [](const DetectResult& r) { return r.padding_predicate ? Wrap(*r.padding_predicate) : py::none(); })
      .def("__repr__", [](const py::object& r) {
        return py::str("IterMapResult(indices={}, errors={}, padding_predicate={})")
            .format(r.attr("indices"), r.attr("errors"), r.attr("padding_predicate"));
      });
}

// None: the region is no box, or not known to be one.
py::object EstimateRegion(const std::vector<Range>& region, const py::dict& loops, const Expr& predicate,
                          bool is_upper) {
  if (is_upper) return MakeArray(py::cast(EstimateRegionUpperBound(region, ToDomain(loops), predicate, Analyzer())));
  const auto box = EstimateRegionStrictBound(region, ToDomain(loops), predicate, Analyzer());
  return box ? MakeArray(py::cast(*box)) : py::none();
}

// Whatever the types of their indices.
bool AreEquivalent(const IndexMap& a, const IndexMap& b) {
  const auto wide = [](const IndexMap& map) {
    return WithIndexTypes(map, std::vector<DataType>(map.initial_indices.size(), DataType::Int(64)));
  };
  return wide(a).IsEquivalentTo(wide(b));
}

void BindIterMaps(py::module_& module) {
  module.def("estimate_region", &EstimateRegion);
  module.def("detect_iter_map", &Detect);
  module.def("subspace_divide", &DivideSubspace);
  module.def("inverse_affine_iter_map", &Inverse);
  module.def("normalize_to_iter_sum", [](const Expr& index, const py::dict& iters) {
    return Value(NormalizeToIterSum(index, ToDomain(iters), Analyzer()));
  });
  module.def("iter_map_simplify", [](const std::vector<Expr>& indices, const py::dict& iters, const Expr& predicate,
                                     const py::object& level, bool simplify_trivial) {
    return IterMapSimplify(indices, ToDomain(iters), predicate, {LevelOf(level), simplify_trivial}, Analyzer());
  });
  module.def("iter_map_to_expr", [](const IterSumExpr& sum) { return ToExpr(sum, Analyzer()); });
  module.def("iter_map_to_expr", [](const IterSplitExpr& split) { return ToExpr(split, Analyzer()); });
}

std::vector<Range> RangesOf(const py::sequence& shape) {
  std::vector<Range> ranges;
  for (const py::handle extent : shape) {
    if (const Range* range = UnwrapAs<Range>(extent))
      ranges.push_back(*range);
    else
      ranges.push_back({IntConst(py::cast<Expr>(extent).dtype(), 0), py::cast<Expr>(extent)});
  }
  return ranges;
}

std::string LambdaOf(const IndexMap& map) {
  const auto list = [](const auto& exprs) {
    std::vector<std::string> texts;
    for (const Expr& e : exprs) texts.push_back(py::cast<std::string>(py::str(Wrap(e))));
    return fmt::format("{}", fmt::join(texts, ", "));
  };
  return fmt::format("lambda {}: ({}{})", list(map.initial_indices), list(map.final_indices),
                     map.final_indices.size() == 1 ? "," : "");
}

std::string TextOfMap(const IndexMap& map) {
  const auto& inverse = map.inverse_index_map;
  return fmt::format("T.index_map({}{})", LambdaOf(map),
                     inverse == nullptr ? "" : ", inverse_index_map=" + LambdaOf(*inverse));
}

// A map as a text and its type of indices, and so its inverse.
py::tuple StateOf(const IndexMap& map) {
  const DataType type = map.initial_indices.empty() ? kIndexType : map.initial_indices[0].dtype();
  const auto& inverse = map.inverse_index_map;
  return py::make_tuple(Print(map), type.ToString(), inverse == nullptr ? py::none() : py::object(StateOf(*inverse)));
}
std::shared_ptr<IndexMap> MapOfState(const py::tuple& state) {
  const DataType type = py::cast<DataType>(state[1]);
  const IndexMap map = Value(ParseIndexMap(py::cast<std::string>(state[0]), {}, type));
  auto made = std::make_shared<IndexMap>(WithIndexTypes(map, std::vector(map.initial_indices.size(), type)));
  if (!state[2].is_none()) made->inverse_index_map = MapOfState(state[2]);
  return made;
}

void BindIndexMap(py::module_& module) {
  py::class_<IndexMap, std::shared_ptr<IndexMap>>(module, "IndexMap")
      .def(py::init([](const std::vector<Var>& initial, const std::vector<Expr>& final_indices,
                       const std::shared_ptr<IndexMap>& inverse) { return IndexMap{initial, final_indices, inverse}; }),
           py::arg("initial_indices"), py::arg("final_indices"), py::arg("inverse_index_map") = nullptr)
      .def_property_readonly("initial_indices",
                             [](const IndexMap& map) { return MakeArray(py::cast(map.initial_indices)); })
      .def_property_readonly("final_indices",
                             [](const IndexMap& map) { return MakeArray(py::cast(map.final_indices)); })
      .def_property_readonly(
          "inverse_index_map",
          [](const IndexMap& map) { return std::const_pointer_cast<IndexMap>(map.inverse_index_map); })
      .def("map_indices",
           [](const IndexMap& map, const std::vector<Expr>& indices) {
             return MakeArray(py::cast(Value(map.MapIndices(indices, Analyzer()))));
           })
      .def("map_shape",
           [](const IndexMap& map, const std::vector<Expr>& shape) {
             return MakeArray(py::cast(Value(map.MapShape(shape, Analyzer()))));
           })
      .def("array_places",
           [](const IndexMap& map, const std::vector<int64_t>& shape) {
             const ArrayPlaces found = Value(PlacesOfArray(map, shape));
             return py::make_tuple(found.shape, found.places);
           })
      .def("inverse", [](const IndexMap& map,
                         const py::sequence& shape) { return Value(map.Inverse(RangesOf(shape), Analyzer())); })
      .def("non_surjective_inverse",
           [](const IndexMap& map, const py::sequence& shape) {
             const PaddedIndexMap padded = Value(map.NonSurjectiveInverse(RangesOf(shape), Analyzer()));
             return py::make_tuple(padded.map, padded.padding_predicate);
           })
      .def("is_equivalent_to", &AreEquivalent)
      .def(py::pickle(&StateOf, &MapOfState))
      .def("__repr__", &TextOfMap);
}

}  // namespace

void BindIterMap(py::module_& module) {
  BindIterNodes(module);
  BindIterMaps(module);
  BindIndexMap(module);
}

}  // namespace lathe::python
