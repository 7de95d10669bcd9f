#include "tuner/feature/feature_extractor.h"

#include <cmath>

#include "compiler/target/micro_arch.h"
#include "support/check.h"
#include "tuner/feature/draft_estimate.h"

namespace lathe {
namespace {

constexpr size_t kBuffers = 4;      // Of the anchor, largest traffic first.
constexpr size_t kInnerLoops = 14;  // Of the anchor, innermost first.
constexpr int kIntensityPoints = 10;

// Appends columns. With `names`, collects what they are called instead of only their values.
class RowWriter {
 public:
  RowWriter(FeatureRow& row, std::vector<std::string>* names) : row_(row), names_(names) {}
  void Begin(std::string prefix) { prefix_ = std::move(prefix); }
  void Plain(const char* name, double value) {
    row_.push_back(std::isfinite(value) ? static_cast<float>(value) : 0.0F);
    if (names_ != nullptr) names_->push_back(prefix_ + name);
  }
  void Log(const char* name, double value) { Plain(name, std::log2(std::fabs(value) + 1)); }
  bool wants_names() const { return names_ != nullptr; }

 private:
  FeatureRow& row_;
  std::vector<std::string>* names_;
  std::string prefix_;
};

// All that is derived from one store.
struct StoreFacts {
  const StoreNest* nest;
  NestFootprints footprints;
  TileShape tile;
  DraftEstimate draft;
  ParallelShape parallel;
  double wall = 0;
  double flops() const { return nest->ops.flops() * nest->iterations; }
};

StoreFacts FactsOf(const IndexSpace& space, const StoreNest& nest, const Target& target) {
  NestFootprints footprints(space, nest);
  const TileShape tile = MeasureTile(space, nest, target);
  const DraftEstimate draft = EstimateNest(footprints, nest, tile, target);
  const ParallelShape parallel = MeasureParallel(nest, target);
  return {&nest, std::move(footprints), tile, draft, parallel, WallCycles(draft, parallel, target)};
}

void WriteArithmetic(RowWriter& row, const OpCounts& ops, double iterations) {
  row.Log("mul_add", ops.mul_add * iterations);
  row.Log("add", ops.add * iterations);
  row.Log("mul", ops.mul * iterations);
  row.Log("div", ops.div * iterations);
  row.Log("compare", ops.compare * iterations);
  row.Log("math", ops.math * iterations);
  row.Log("other", ops.other * iterations);
  row.Log("integer", ops.integer * iterations);
  row.Log("branch", (ops.branch + ops.guard) * iterations);
  row.Log("cast", ops.cast * iterations);
}

struct LoopSum {
  double count = 0, product = 1, innermost = 0;
};

template <typename Wanted>
LoopSum SumLoops(const StoreNest& nest, Wanted wanted) {
  LoopSum sum;
  for (const NestLoop& loop : nest.loops) {
    if (loop.extent == 1 || !wanted(loop)) continue;
    sum.count += 1;
    sum.product *= static_cast<double>(loop.extent);
    sum.innermost = static_cast<double>(loop.extent);
  }
  return sum;
}

void WriteLoops(RowWriter& row, const StoreNest& nest) {
  static constexpr std::pair<const char*, ForKind> kKinds[] = {{"serial", ForKind::kSerial},
                                                               {"parallel", ForKind::kParallel},
                                                               {"vectorized", ForKind::kVectorized},
                                                               {"unrolled", ForKind::kUnrolled}};
  for (const auto& [name, kind] : kKinds) {
    row.Begin(std::string("anchor.loops.") + name + ".");
    const LoopSum sum = SumLoops(nest, [kind = kind](const NestLoop& loop) { return loop.kind == kind; });
    row.Plain("count", sum.count);
    row.Log("product", sum.product);
    row.Log("innermost", sum.innermost);
  }
  for (bool reduces : {false, true}) {
    row.Begin(reduces ? "anchor.loops.reduce." : "anchor.loops.spatial.");
    const LoopSum serial =
        SumLoops(nest, [&](const NestLoop& loop) { return loop.reduces == reduces && loop.kind == ForKind::kSerial; });
    const LoopSum unrolled = SumLoops(
        nest, [&](const NestLoop& loop) { return loop.reduces == reduces && loop.kind == ForKind::kUnrolled; });
    row.Log("serial_product", serial.product);
    row.Log("serial_innermost", serial.innermost);
    row.Log("unrolled_product", unrolled.product);
  }
  row.Begin("anchor.inner_loop.");
  const size_t count = nest.loops.size();
  for (size_t i = 0; i < kInnerLoops; ++i) {
    const std::string name = row.wants_names() ? std::to_string(i) + ".extent" : "";
    row.Log(name.c_str(), i < count ? static_cast<double>(nest.loops[count - 1 - i].extent - 1) : 0);
  }
}

// How soon data is touched again: by the first loop, from inside, that does not move the access.
struct Reuse {
  bool exists = false;
  double iterations = 0, bytes = 0, count = 0;
};

Reuse ReuseOf(const IndexSpace& space, const StoreFacts& facts, const NestAccess& access) {
  const StoreNest& nest = *facts.nest;
  for (size_t level = nest.loops.size(); level-- > 0;) {
    const NestLoop& loop = nest.loops[level];
    if (loop.extent == 1 || (space.BitOf(loop.id) & access.loops) != 0) continue;
    return {true, facts.footprints.IterationsInside(level + 1), facts.footprints.LinesAt(level + 1) * kCacheLineBytes,
            static_cast<double>(loop.extent)};
  }
  return {};
}

void WriteBuffers(RowWriter& row, const IndexSpace& space, const StoreFacts& facts) {
  const StoreNest& nest = *facts.nest;
  std::vector<size_t> order(nest.accesses.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto size = [&](size_t i) {
    return std::pair(facts.footprints.At(i, 0).lines, facts.footprints.At(i, 0).bytes);
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return size(a) > size(b); });
  const NestLoop* innermost = nullptr;
  for (const NestLoop& loop : nest.loops)
    if (loop.extent > 1) innermost = &loop;
  for (size_t k = 0; k < kBuffers; ++k) {
    row.Begin("anchor.buffer" + std::to_string(k) + ".");
    const bool exists = k < order.size();
    const NestAccess none{nest.accesses[0].buffer, {}, {}, false, false, false, 0};
    const NestAccess& access = exists ? nest.accesses[order[k]] : none;
    const Footprint box = exists ? facts.footprints.At(order[k], 0) : Footprint{0, 0, 0};
    const double bytes =
        exists ? access.buffer->dtype.bytes() * nest.iterations * static_cast<double>(access.places.size()) : 0;
    const Reuse reuse = exists ? ReuseOf(space, facts, access) : Reuse{};
    const int64_t stride = exists && innermost != nullptr ? StrideOf(space, access, *innermost) : 0;
    const double touched_lines =
        bytes / kCacheLineBytes * std::clamp<double>(std::fabs(static_cast<double>(stride)), 0.0625, 16);
    const double shared_by = reuse.exists ? reuse.count : 0.5;
    row.Plain("is_read", access.is_read);
    row.Plain("is_write", access.is_write);
    row.Plain("in_register", access.in_register);
    row.Log("bytes", bytes);
    row.Log("unique_bytes", box.bytes);
    row.Log("lines", touched_lines);
    row.Log("unique_lines", box.lines);
    row.Plain("has_reuse", reuse.exists);
    row.Log("reuse_distance_iterations", reuse.iterations);
    row.Log("reuse_distance_bytes", reuse.bytes);
    row.Log("reuse_count", reuse.count);
    row.Log("bytes_per_reuse", bytes / shared_by);
    row.Log("unique_bytes_per_reuse", box.bytes / shared_by);
    row.Log("lines_per_reuse", touched_lines / shared_by);
    row.Log("unique_lines_per_reuse", box.lines / shared_by);
    row.Log("stride", static_cast<double>(stride));
  }
}

// Arithmetic per byte touched, at ten points of the volume from the innermost loop outwards.
void WriteIntensity(RowWriter& row, const StoreFacts& facts) {
  row.Begin("anchor.intensity.");
  const size_t levels = facts.nest->loops.size() + 1;
  const double total = std::log2(facts.nest->iterations + 1);
  size_t level = levels - 1;
  for (int point = 1; point <= kIntensityPoints; ++point) {
    const double wanted = total * point / kIntensityPoints;
    while (level > 0 && std::log2(facts.footprints.IterationsInside(level) + 1) < wanted) --level;
    const double operations = facts.nest->ops.total() * facts.footprints.IterationsInside(level);
    const std::string name = row.wants_names() ? "at_" + std::to_string(10 * point) : "";
    row.Log(name.c_str(), operations / std::max(1.0, facts.footprints.LinesAt(level) * kCacheLineBytes));
  }
}

void WriteTile(RowWriter& row, const StoreFacts& facts, const Target& target) {
  const TileShape& tile = facts.tile;
  const RegisterFile registers = target.register_file();
  const int bits = std::max<int>(8, facts.nest->accesses[0].buffer->dtype.bits);
  const double chains_wanted = target.micro_arch().fma_latency * std::max(1, registers.fma_per_cycle);
  row.Begin("anchor.tile.");
  row.Log("lanes", tile.lanes);
  row.Plain("lanes_used", tile.lanes / (tile.registers_per_vector * registers.lanes(bits)));
  row.Log("copies", tile.copies);
  row.Log("reduce_copies", tile.reduce_copies);
  row.Log("accumulators", tile.accumulators);
  row.Log("registers_needed", tile.registers_needed());
  row.Plain("registers_share", tile.registers_needed() / registers.num_vector_registers);
  row.Plain("chains_share", tile.accumulators / chains_wanted);
  row.Log("loads", tile.loads);
  row.Log("stores", tile.stores);
  row.Log("gathers", tile.gathers);
  row.Log("operations", tile.operations);
  row.Plain("loads_per_operation", (tile.loads + tile.gathers) / std::max(1.0, tile.operations));
  row.Log("runs", facts.nest->iterations / std::max(1.0, facts.footprints.IterationsInside(tile.first_loop)));
  row.Plain("useful", facts.nest->useful);
}

void WriteDraft(RowWriter& row, const StoreFacts& facts) {
  const DraftEstimate& draft = facts.draft;
  row.Begin("anchor.draft.");
  const DraftBound* binding =
      std::max_element(std::begin(kDraftBounds), std::end(kDraftBounds),
                       [&](const DraftBound& a, const DraftBound& b) { return draft.*a.cycles < draft.*b.cycles; });
  row.Log("compute", draft.compute);
  row.Log("ports", draft.ports);
  row.Log("latency", draft.latency);
  row.Log("front_end", draft.front_end);
  row.Log("spills", draft.spills);
  row.Log("l2", draft.l2);
  row.Log("l3", draft.l3);
  row.Log("memory", draft.memory);
  row.Log("loop_overhead", draft.loop_overhead);
  row.Log("total", draft.total);
  row.Plain("binding", static_cast<double>(binding - kDraftBounds));
  row.Plain("compute_share", draft.compute / std::max(1.0, draft.total));
}

void WriteCaches(RowWriter& row, const StoreFacts& facts, const Target& target) {
  const CacheSizes caches = target.cache_sizes();
  const std::pair<const char*, int64_t> levels[] = {{"anchor.l1.", caches.l1_data_bytes},
                                                    {"anchor.l2.", caches.l2_bytes},
                                                    {"anchor.l3.", std::max(caches.l2_bytes, caches.l3_bytes)}};
  for (const auto& [name, bytes] : levels) {
    const size_t fits = facts.footprints.LevelThatFits(static_cast<double>(bytes));
    row.Begin(name);
    row.Log("lines_through", facts.footprints.LinesThrough(static_cast<double>(bytes)));
    row.Log("iterations_that_fit", facts.footprints.IterationsInside(fits));
    row.Plain("share_used", facts.footprints.LinesAt(fits) * kCacheLineBytes / static_cast<double>(bytes));
  }
  // Data of each of the levels around the tile.
  row.Begin("anchor.footprint.");
  const size_t inner = facts.tile.first_loop;
  for (size_t up = 0; up < 6; ++up) {
    const std::string label = row.wants_names() ? "lines_" + std::to_string(up) + "_loops_up" : "";
    row.Log(label.c_str(), facts.footprints.LinesAt(inner >= up ? inner - up : 0));
  }
}

void WriteParallel(RowWriter& row, const StoreFacts& facts, const Target& target) {
  row.Begin("anchor.parallel.");
  row.Log("tasks", facts.parallel.tasks);
  row.Log("launches", facts.parallel.launches);
  row.Plain("speedup_share", facts.parallel.speedup / std::max(1, target.num_cores()));
  row.Log("cycles_per_task", facts.draft.total / facts.parallel.tasks);
}

struct Spread {
  double sum = 0, max = 0;
  void Add(double value) {
    sum += value;
    max = std::max(max, value);
  }
};

void WriteOthers(RowWriter& row, const std::vector<StoreFacts>& stores, size_t anchor, const Target& target) {
  Spread flops, iterations, operations, wall, l2_lines, l3_lines, gathers, waste, code;
  double count = 0, vectorized = 0, parallel = 0, branches = 0;
  const CacheSizes caches = target.cache_sizes();
  for (size_t i = 0; i < stores.size(); ++i) {
    if (i == anchor) continue;
    const StoreFacts& facts = stores[i];
    const double runs =
        facts.nest->iterations / std::max(1.0, facts.footprints.IterationsInside(facts.tile.first_loop));
    count += 1;
    flops.Add(facts.flops());
    iterations.Add(facts.nest->iterations);
    operations.Add(runs * facts.tile.operations);
    wall.Add(facts.wall);
    l2_lines.Add(facts.footprints.LinesThrough(static_cast<double>(caches.l1_data_bytes)));
    l3_lines.Add(facts.footprints.LinesThrough(static_cast<double>(caches.l2_bytes)));
    gathers.Add(runs * facts.tile.gathers);
    waste.Add(facts.nest->iterations * (1 - facts.nest->useful));
    code.Add(facts.tile.copies);
    vectorized += facts.tile.lanes > 1 ? facts.nest->iterations : 0;
    parallel += facts.parallel.launches > 0 ? facts.nest->iterations : 0;
    branches += (facts.nest->ops.branch + facts.nest->ops.guard) * facts.nest->iterations;
  }
  row.Begin("others.");
  row.Plain("count", count);
  const std::pair<const char*, const Spread*> spreads[] = {{"flops", &flops},
                                                           {"iterations", &iterations},
                                                           {"operations", &operations},
                                                           {"wall", &wall},
                                                           {"lines_from_l2", &l2_lines},
                                                           {"lines_from_l3", &l3_lines},
                                                           {"gathers", &gathers},
                                                           {"waste", &waste},
                                                           {"copies", &code}};
  for (const auto& [name, spread] : spreads) {
    const std::string sum_name = row.wants_names() ? std::string(name) + ".sum" : "";
    const std::string max_name = row.wants_names() ? std::string(name) + ".max" : "";
    row.Log(sum_name.c_str(), spread->sum);
    row.Log(max_name.c_str(), spread->max);
  }
  row.Plain("vectorized_share", vectorized / std::max(1.0, iterations.sum));
  row.Plain("parallel_share", parallel / std::max(1.0, iterations.sum));
  row.Log("branches", branches);
}

void WriteFunction(RowWriter& row, const LoopNests& nests, const std::vector<StoreFacts>& stores, size_t anchor) {
  double flops = 0, wall = 0, code = 0, launches = 0;
  for (const StoreFacts& facts : stores) {
    flops += facts.flops();
    wall += facts.wall;
    code += facts.tile.operations + facts.tile.loads + facts.tile.stores + 2 * facts.tile.gathers;
    launches = std::max(launches, facts.parallel.launches);
  }
  row.Begin("function.");
  row.Log("flops", flops);
  row.Log("parameter_bytes", nests.parameter_bytes);
  row.Log("allocated_bytes", nests.allocated_bytes);
  row.Log("largest_allocation_bytes", nests.largest_allocation_bytes);
  row.Log("intensity", flops / std::max(1.0, nests.parameter_bytes));
  row.Log("instructions", code);
  row.Plain("blocks", nests.num_blocks);
  row.Plain("stores", static_cast<double>(stores.size()));
  row.Log("launches", launches);
  row.Plain("anchor_share", stores[anchor].wall / std::max(1.0, wall));
}

void WriteTarget(RowWriter& row, const Target& target) {
  const RegisterFile registers = target.register_file();
  const CacheSizes caches = target.cache_sizes();
  row.Begin("target.");
  row.Plain("cores", target.num_cores());
  row.Log("vector_bits", registers.vector_bits);
  row.Plain("registers", registers.num_vector_registers);
  row.Plain("fma_per_cycle", registers.has_fma ? registers.fma_per_cycle : 0.5 * registers.fma_per_cycle);
  row.Log("l1_bytes", static_cast<double>(caches.l1_data_bytes));
  row.Log("l2_bytes", static_cast<double>(caches.l2_bytes));
  row.Log("l3_bytes", static_cast<double>(caches.l3_bytes));
}

// The store that does most: by arithmetic, then by iterations, then the first.
size_t FindAnchor(const std::vector<StoreFacts>& stores) {
  size_t anchor = 0;
  for (size_t i = 1; i < stores.size(); ++i) {
    const auto weight = [&](size_t k) { return std::pair(stores[k].flops(), stores[k].nest->iterations); };
    if (weight(i) > weight(anchor)) anchor = i;
  }
  return anchor;
}

void WriteRow(RowWriter& row, LoopNests& nests, const Target& target) {
  if (nests.stores.empty()) {  // A function that stores nothing: a row like any other.
    StoreNest nothing;
    nothing.accesses.push_back({MakeBuffer("nothing", {Expr(1)}), {1}, {{AffineForm{}}}, false, false, false, 0});
    nests.stores.push_back(std::move(nothing));
  }
  std::vector<StoreFacts> stores;
  double wall = 0;
  for (const StoreNest& nest : nests.stores) {
    stores.push_back(FactsOf(nests.space, nest, target));
    wall += stores.back().wall;
  }
  const size_t anchor = FindAnchor(stores);
  const StoreFacts& facts = stores[anchor];
  row.Begin("draft.");
  row.Log("cycles", wall);
  row.Begin("anchor.arithmetic.");
  WriteArithmetic(row, facts.nest->ops, facts.nest->iterations);
  WriteLoops(row, *facts.nest);
  WriteTile(row, facts, target);
  WriteDraft(row, facts);
  WriteCaches(row, facts, target);
  WriteParallel(row, facts, target);
  WriteIntensity(row, facts);
  WriteBuffers(row, nests.space, facts);
  WriteOthers(row, stores, anchor, target);
  WriteFunction(row, nests, stores, anchor);
  WriteTarget(row, target);
}

}  // namespace

FeatureRow ExtractFeatures(const PrimFunc& scheduled, const Target& target) {
  FeatureRow row;
  row.reserve(kFeatureCount);
  LoopNests nests = CollectLoopNests(scheduled);
  RowWriter writer(row, nullptr);
  WriteRow(writer, nests, target);
  CHECK(row.size() == kFeatureCount) << "a feature row has " << row.size() << " columns, kFeatureCount is "
                                     << kFeatureCount;
  return row;
}

const std::vector<std::string>& FeatureNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> collected;
    FeatureRow row;
    LoopNests nests;
    StatusOr<Target> target = Target::Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3 -num-cores=1");
    CHECK(target.ok()) << target.status().message();
    RowWriter writer(row, &collected);
    WriteRow(writer, nests, *target);
    return collected;
  }();
  return names;
}

}  // namespace lathe
