#include "tests/compiler/random_schedule/shrink.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <set>

#include "compiler/ir/visitor.h"
#include "compiler/script/complete.h"
#include "compiler/script/dialect.h"
#include "compiler/script/printer.h"

namespace lathe {
namespace {

Finding JudgeInChild(const RandomProgram& program, const ScheduleTrace& trace, const Judge& judge) {
  return RunInChild([&] { return judge(program, ReplayWhatFits(program.func, trace)); });
}

ScheduleTrace Without(const ScheduleTrace& trace, size_t left_out) {
  ScheduleTrace shorter;
  for (size_t i = 0; i < trace.size(); ++i) {
    if (i == left_out) continue;
    const Decision* decision = trace.decision(i);
    shorter.Append(trace.instruction(i), decision != nullptr ? std::optional(*decision) : std::nullopt);
  }
  return shorter;
}

// Numbers the statements that can be left out or simplified, and does so with one of them.
class StatementDropper : public StmtExprMutator {
 public:
  explicit StatementDropper(int wanted) : wanted_(wanted) {}
  int count() const { return count_; }

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    if (const Seq* seq = stmt.As<Seq>()) {
      std::vector<Stmt> kept;
      for (const Stmt& child : seq->stmts) {
        if (count_++ != wanted_) kept.push_back(VisitStmt(child));
      }
      return MakeSeq(std::move(kept));
    }
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) {
      if (count_++ == wanted_) return VisitStmt(branch->then_case);
      if (branch->else_case && count_++ == wanted_) return IfThenElse{branch->condition, branch->then_case, {}};
    }
    return StmtExprMutator::VisitStmt(stmt);
  }
  Stmt VisitBlockRealize(const Stmt& self, const BlockRealize& realize) override {
    if (!IsConstInt(realize.predicate, 1) && count_++ == wanted_)
      return BlockRealize{realize.iter_values, True(), realize.block};
    return StmtExprMutator::VisitBlockRealize(self, realize);
  }

 private:
  int wanted_, count_ = 0;
};

int CountDroppable(const PrimFunc& func) {
  StatementDropper counter(-1);
  counter(func.body);
  return counter.count();
}

// What was left out is not read or written any more.
class RegionUpdater : public StmtExprMutator {
 protected:
  Block VisitBlock(const Block& self) override {
    Block block = StmtExprMutator::VisitBlock(self);
    if (block->name == kRootBlockName) return block;
    RecomputeRegions(block.Mutable());
    return block;
  }
};

// Drops parameters and allocations that nobody mentions, to read less.
class BufferCollector : public StmtExprVisitor {
 public:
  std::set<const BufferNode*> used;

 protected:
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    used.insert(store.buffer.get());
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    used.insert(load.buffer.get());
    StmtExprVisitor::VisitBufferLoad(self, load);
  }
  void VisitBlock(const Block& block) override {
    for (const MatchBufferRegion& match : block->match_buffers) used.insert(match.source.buffer.get());
    StmtExprVisitor::VisitBlock(block);
  }
};
RandomProgram WithoutUnused(RandomProgram program) {
  BufferCollector collector;
  collector(program.func.body);
  for (size_t i = program.roles.size(); i-- > 0;) {
    const Var param = program.func.params[i];
    const Buffer* buffer = FindBuffer(program.func, param);
    if (buffer == nullptr || program.is_symbolic || collector.used.count(buffer->get()) != 0) continue;
    std::erase_if(program.func.buffer_map, [&](const ParamBuffer& entry) { return entry.param.same_as(param); });
    program.func.params.erase(program.func.params.begin() + std::ptrdiff_t(i));
    program.roles.erase(program.roles.begin() + std::ptrdiff_t(i));
  }
  if (program.func.body.As<BlockRealize>() != nullptr) {
    std::erase_if(program.func.body.Mutable<BlockRealize>().block.Mutable().alloc_buffers,
                  [&](const Buffer& buffer) { return collector.used.count(buffer.get()) == 0; });
  }
  return program;
}

struct Case {
  RandomProgram program;
  ScheduleTrace trace;
};

// Leaves out one call after the other, the last first; true if any could go.
bool DropCalls(Case& failing, const std::function<bool(const Case&)>& still_fails) {
  bool dropped = false;
  for (size_t i = failing.trace.size(); i-- > 0;) {
    if (i >= failing.trace.size()) continue;
    Case smaller{failing.program, Without(failing.trace, i)};
    if (!still_fails(smaller)) continue;
    failing = std::move(smaller);
    dropped = true;
  }
  return dropped;
}

bool DropStatements(Case& failing, const std::function<bool(const Case&)>& still_fails) {
  bool dropped = false;
  for (int i = CountDroppable(failing.program.func); i-- > 0;) {
    Case smaller = failing;
    smaller.program.func.body = RegionUpdater()(StatementDropper(i)(failing.program.func.body));
    smaller.program = WithoutUnused(std::move(smaller.program));
    if (!still_fails(smaller)) continue;
    failing = std::move(smaller);
    dropped = true;
  }
  return dropped;
}

}  // namespace

Finding RunInChild(const std::function<Finding()>& work) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const Finding finding = work();
    const std::string text = finding.stage + "\n" + finding.what;
    const ssize_t written = write(ends[1], text.data(), text.size());
    _exit(written == ssize_t(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0 || text.find('\n') == std::string::npos) return {"crash", fmt::format("wait status {}", status)};
  return {text.substr(0, text.find('\n')), text.substr(text.find('\n') + 1)};
}

namespace {

// Stage and message without places and numbers: what must stay while the case shrinks.
std::string Signature(const Finding& finding) {
  std::string signature = finding.stage;
  const std::string line = finding.what.substr(0, finding.what.find('\n'));
  const size_t colon = line.rfind(": ");
  for (const char c : colon == std::string::npos ? line : line.substr(colon)) {
    if (c == '"' || c == '[') break;
    if (!std::isdigit(static_cast<unsigned char>(c)) && c != '-' && c != '_') signature += c;
  }
  return signature;
}

}  // namespace

std::string DescribeShrunk(const RandomProgram& program, const ScheduleTrace& trace, const Judge& judge) {
  Case failing{program, trace};
  const std::string wanted = Signature(JudgeInChild(program, trace, judge));
  const auto still_fails = [&](const Case& one) {
    return Signature(JudgeInChild(one.program, one.trace, judge)) == wanted;
  };
  if (wanted.empty()) return "the shrinker cannot repeat the failure";
  for (bool got_smaller = true; got_smaller;) {
    got_smaller = DropCalls(failing, still_fails);
    got_smaller = DropStatements(failing, still_fails) || got_smaller;
  }
  const Finding finding = JudgeInChild(failing.program, failing.trace, judge);
  std::string text =
      fmt::format("{}: {}\n{}\n{}", finding.stage, finding.what, Print(failing.program.func), failing.trace.ToPython());
  if (finding.stage != "crash")
    text += fmt::format("\nbecomes\n{}", Print(ReplayWhatFits(failing.program.func, failing.trace).func()));
  return text;
}

}  // namespace lathe
