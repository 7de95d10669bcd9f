#include "compiler/schedule/merge.h"

#include <fmt/core.h>

#include "compiler/arith/analyzer.h"
#include "compiler/schedule/independence.h"
#include "compiler/schedule/rewrite_tree.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr const char* kMerge = "merge";

// The loops that become one, by nest: from the child of the common ancestor down to the loop that was given.
using Nests = std::vector<std::vector<int>>;

Status CheckPlain(const Schedule& schedule, int row) {
  const For& loop = schedule.LoopOf(row);
  if (loop.kind == ForKind::kThreadBinding)
    return schedule.Error(kMerge, row, "the loop is bound to threads; merge first, then bind it");
  if (!loop.annotations.empty())
    return schedule.Error(
        kMerge, row,
        fmt::format("the loop carries annotation \"{}\"; unannotate it first", loop.annotations.begin()->first));
  return IsConstInt(loop.min, 0) ? OkStatus() : schedule.Error(kMerge, row, "the loop does not start at 0");
}

StatusOr<std::vector<int>> ChainFrom(const Schedule& schedule, int above, int bottom) {
  std::vector<int> chain{bottom};
  for (int row = bottom; schedule.ParentOf(row) != above; row = chain.back()) {
    const int parent = schedule.ParentOf(row);
    if (!schedule.IsLoop(parent)) return schedule.Error(kMerge, bottom, "the loops are in different scopes");
    if (!schedule.LoopOf(parent).body.same_as(schedule.StmtOf(row)))
      return schedule.Error(kMerge, parent, "it has several children; the loops must lie on chains of single children");
    chain.push_back(parent);
  }
  for (int row : chain) RETURN_IF_ERROR(CheckPlain(schedule, row));
  std::reverse(chain.begin(), chain.end());
  return chain;
}

int CommonAncestorOf(const Schedule& schedule, const std::vector<int>& rows) {
  int above = schedule.ParentOf(rows[0]);
  const auto is_around = [&](int row) { return schedule.IsAncestor(above, row); };
  while (above >= 0 && !std::all_of(rows.begin(), rows.end(), is_around)) above = schedule.ParentOf(above);
  return above;
}

Status CheckSameShape(const Schedule& schedule, const std::vector<int>& first, const std::vector<int>& other) {
  if (other.size() != first.size())
    return schedule.Error(kMerge, other.back(),
                          fmt::format("it is {} loops deep, the first one {}", other.size(), first.size()));
  for (size_t d = 0; d < first.size(); ++d) {
    const For &a = schedule.LoopOf(first[d]), &b = schedule.LoopOf(other[d]);
    if (a.loop_var.dtype() != b.loop_var.dtype() || !Analyzer().CanProveEqual(a.extent, b.extent))
      return schedule.Error(kMerge, other[d],
                            fmt::format("its extent or type differs from that of loop \"{}\"", a.loop_var.name()));
  }
  return OkStatus();
}

std::vector<Stmt> ChildrenOf(const Stmt& body) {
  const Seq* seq = body.As<Seq>();
  return seq != nullptr ? seq->stmts : std::vector<Stmt>{body};
}

const Stmt& BodyOf(const Schedule& schedule, int row) {
  return schedule.IsLoop(row) ? schedule.LoopOf(row).body : schedule.BlockOf(row).body;
}

// Sorts the nests by their places below `above`, which may be one sequence only: nests under conditions stay there.
Status SortNests(const Schedule& schedule, int above, Nests& nests) {
  for (const std::vector<int>& nest : nests)
    if (IsConditional(schedule, above, nest[0]))
      return schedule.Error(kMerge, nest.back(), "an if, while or let around it is a condition that would be lost");
  std::sort(nests.begin(), nests.end(), [&](const auto& a, const auto& b) {
    return ChildIndexTowards(schedule, above, a[0]) < ChildIndexTowards(schedule, above, b[0]);
  });
  for (size_t i = 1; i < nests.size(); ++i)
    if (nests[i][0] == nests[i - 1][0]) return schedule.Error(kMerge, nests[i].back(), "it is given twice");
  return OkStatus();
}

// Nests but the last one move down past what lies between.
Status CheckMovesDown(const Schedule& schedule, int above, const Nests& nests) {
  const size_t last = ChildIndexTowards(schedule, above, nests.back()[0]);
  const auto is_merged = [&](int block) {
    return std::any_of(nests.begin(), nests.end(),
                       [&](const std::vector<int>& nest) { return schedule.IsAncestor(nest[0], block); });
  };
  for (const std::vector<int>& nest : nests) {
    const size_t from = ChildIndexTowards(schedule, above, nest[0]);
    for (int other : schedule.ChildBlocksOf(above)) {
      const size_t at = ChildIndexTowards(schedule, above, other);
      if (is_merged(other) || at < from || at > last) continue;
      for (int block : schedule.ChildBlocksOf(nest[0])) {
        if (const WhyNot why = WhyNotSwappable(schedule, block, other); !why.empty())
          return schedule.Error(kMerge, nest[0], why);
      }
    }
  }
  return OkStatus();
}

// The joined loops, outermost first, around the bodies of the nests.
Stmt Join(const Schedule& schedule, const Nests& nests, const std::vector<Var>& vars) {
  std::vector<Stmt> bodies;
  for (const std::vector<int>& nest : nests) {
    VarMap renamed;
    for (size_t d = 0; d < nest.size(); ++d) renamed.emplace(schedule.LoopOf(nest[d]).loop_var.get(), vars[d]);
    bodies.push_back(Substitute(schedule.LoopOf(nest.back()).body, renamed));
  }
  Stmt joined = MakeSeq(std::move(bodies));
  VarMap renamed;
  for (size_t d = 0; d < vars.size(); ++d) renamed.emplace(schedule.LoopOf(nests[0][d]).loop_var.get(), vars[d]);
  for (size_t d = vars.size(); d-- > 0;)
    joined = MakeFor(vars[d], Substitute(schedule.LoopOf(nests[0][d]).extent, renamed), joined);
  return joined;
}

// Row `above` with another body.
Stmt WithNewBody(const Schedule& schedule, int above, Stmt body) {
  if (!schedule.IsLoop(above)) return WithBody(schedule.RealizeOf(above), std::move(body));
  For loop = schedule.LoopOf(above);
  loop.body = std::move(body);
  return loop;
}

// Blocks of different nests now take turns.
Status CheckTurns(const Schedule& before, const Schedule& after, const Nests& nests) {
  for (size_t a = 0; a < nests.size(); ++a) {
    for (size_t b = a + 1; b < nests.size(); ++b) {
      for (int first : before.ChildBlocksOf(nests[a][0])) {
        for (int second : before.ChildBlocksOf(nests[b][0])) {
          if (const WhyNot why = WhyNotInTurns(after, first, second); !why.empty())
            return before.Error(kMerge, nests[b][0], why);
        }
      }
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<LoopRV> Merge(Schedule& schedule, std::span<const LoopRV> loop_rvs) {
  if (loop_rvs.size() < 2)
    return Status(StatusCode::kOutOfRange, schedule.Error(kMerge, -1, "at least two loops are needed").message());
  std::vector<int> rows;
  for (LoopRV loop : loop_rvs) {
    ASSIGN_OR_RETURN(const int row, schedule.RowOf(loop));
    rows.push_back(row);
  }
  const int above = CommonAncestorOf(schedule, rows);
  if (above < 0) return schedule.Error(kMerge, rows[0], "the loops are in different functions");
  Nests nests;
  for (int row : rows) {
    ASSIGN_OR_RETURN(std::vector<int> chain, ChainFrom(schedule, above, row));
    nests.push_back(std::move(chain));
  }
  std::vector<Var> vars;  // Named after the loops of the nest that was given first.
  for (int row : nests[0])
    vars.emplace_back(schedule.LoopOf(row).loop_var.name() + "_m", schedule.LoopOf(row).loop_var.dtype());
  for (const std::vector<int>& nest : nests) RETURN_IF_ERROR(CheckSameShape(schedule, nests[0], nest));
  RETURN_IF_ERROR(SortNests(schedule, above, nests));
  RETURN_IF_ERROR(CheckMovesDown(schedule, above, nests));

  std::vector<Stmt> children;
  for (const Stmt& child : ChildrenOf(BodyOf(schedule, above))) {
    const auto nest = std::find_if(nests.begin(), nests.end(), [&](const std::vector<int>& chain) {
      return schedule.StmtOf(chain[0]).same_as(child);
    });
    if (nest == nests.end())
      children.push_back(child);
    else if (*nest == nests.back())
      children.push_back(Join(schedule, nests, vars));
  }
  Schedule changed = schedule;
  changed.Replace(above, WithNewBody(schedule, above, MakeSeq(std::move(children))));
  RETURN_IF_ERROR(CheckTurns(schedule, changed, nests));
  schedule = std::move(changed);
  const LoopRV result = schedule.NewLoopRV(vars.back());
  schedule.Record("Merge", std::vector<TraceInput>(loop_rvs.begin(), loop_rvs.end()), {}, {result.id});
  return result;
}

}  // namespace lathe
