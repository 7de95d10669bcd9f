// What a schedule may and may not do to a program: each case is a program, calls on it, and either words of the refusal
// of the last call or nothing. A refusal leaves the schedule as it was; what is accepted computes the same bits.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "compiler/arith/analyzer.h"
#include "compiler/interpreter/interpreter.h"
#include "compiler/ir/visitor.h"
#include "compiler/lower.h"
#include "compiler/schedule/schedule.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"

namespace lathe {

// Runs `trace` call by call on a fresh schedule, up to the first refusal, which may not change anything.
inline Status ApplyStepByStep(const ScheduleTrace& trace, Schedule& schedule) {
  for (size_t i = 0; i < trace.size(); ++i) {
    const Instruction& call = trace.instruction(i);
    const PrimFunc before = schedule.func();
    const size_t length = schedule.trace().size();
    const StatusOr<std::vector<int>> outputs = call.kind->apply(schedule, call.inputs, call.attrs, trace.decision(i));
    if (outputs.ok()) {
      EXPECT_EQ(*outputs, call.outputs) << call.kind->name << ": every result must be named, in order";
      continue;
    }
    EXPECT_EQ(i + 1, trace.size()) << "a call before the last one failed";
    EXPECT_TRUE(schedule.func().body.same_as(before.body)) << "the refusal changed the function";
    EXPECT_EQ(schedule.trace().size(), length) << "the refusal is in the trace";
    return outputs.status();
  }
  return OkStatus();
}

struct SoundnessCase {
  const char* name;
  const char* program;  // TVMScript.
  std::string calls;
  std::string refusal = "";  // Part of the message; empty: accepted.
};

inline std::ostream& operator<<(std::ostream& os, const SoundnessCase& test_case) { return os << test_case.name; }
inline std::string NameOf(const testing::TestParamInfo<SoundnessCase>& info) { return info.param.name; }

// Small integers for every parameter; scalars and the extents of symbolic shapes are `n`.
inline std::vector<Tensor> SmallIntegers(const PrimFunc& func, int64_t n, uint64_t seed) {
  Random random(seed);
  std::vector<Tensor> tensors;
  for (const Param& param : ParamsOf(func)) {
    if (const Var* scalar = std::get_if<Var>(&param)) {
      tensors.push_back(Tensor::FromInts(scalar->dtype(), {}, {n}));
      continue;
    }
    const Buffer& buffer = std::get<Buffer>(param);
    std::vector<int64_t> shape;
    for (const Expr& extent : buffer->shape) {
      VarMap values;
      PostOrderVisit(extent, [&](const Expr& e) {
        if (IsVar(e)) values.emplace(e.get(), IntConst(e.dtype(), n));
      });
      shape.push_back(Analyzer().ConstIntBound(Substitute(extent, values)).min);
    }
    std::vector<int64_t> values(Tensor::Zeros(buffer->dtype, shape).NumElements());
    for (int64_t& value : values) value = static_cast<int64_t>(random.Below(9)) - 4;
    tensors.push_back(Tensor::FromInts(buffer->dtype, shape, values));
  }
  return tensors;
}

inline bool IsSymbolic(const PrimFunc& func) {
  const std::vector<Param> params = ParamsOf(func);
  return std::any_of(params.begin(), params.end(), [](const Param& param) {
    const Buffer* buffer = std::get_if<Buffer>(&param);
    return buffer == nullptr || !ConstantShape((*buffer)->shape);
  });
}

// Both functions leave the same bits in every parameter; the second one without a race once it is lowered.
inline void ExpectSameBits(const PrimFunc& before, const PrimFunc& after) {
  const StatusOr<PrimFunc> lowered = Lower(after);
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString() << "\n" << Print(after);
  for (const int64_t n : IsSymbolic(before) ? std::vector<int64_t>{1, 4, 13, 16} : std::vector<int64_t>{0}) {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      std::vector<Tensor> expected = SmallIntegers(before, n, seed), scheduled = expected, compiled = expected;
      ASSERT_EQ(Interpret(before, expected, {.check_races = false}), OkStatus()) << Print(before);
      ASSERT_EQ(Interpret(after, scheduled, {.check_races = false}), OkStatus()) << "n = " << n << "\n" << Print(after);
      ASSERT_EQ(Interpret(*lowered, compiled), OkStatus()) << "n = " << n << "\n" << Print(after) << Print(*lowered);
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_TRUE(scheduled[i].data == expected[i].data) << "parameter " << i << ", n = " << n << "\n"
                                                           << Print(after);
        ASSERT_TRUE(compiled[i].data == expected[i].data) << "lowered, parameter " << i << ", n = " << n << "\n"
                                                          << Print(after) << Print(*lowered);
      }
    }
  }
}

inline void ExpectSound(const SoundnessCase& test_case) {
  const StatusOr<PrimFunc> before = ParsePrimFunc(test_case.program, "case.py");
  ASSERT_TRUE(before.ok()) << before.status().ToString();
  const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromPython(test_case.calls);
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  StatusOr<Schedule> schedule = Schedule::Create(*before);
  ASSERT_TRUE(schedule.ok()) << schedule.status().ToString();
  const Status status = ApplyStepByStep(*trace, *schedule);
  if (!test_case.refusal.empty()) {
    ASSERT_FALSE(status.ok()) << "accepted:\n" << Print(schedule->func());
    EXPECT_THAT(status.message(), testing::HasSubstr(test_case.refusal));
    return;
  }
  ASSERT_TRUE(status.ok()) << status.ToString();
  ExpectSameBits(*before, schedule->func());
}

}  // namespace lathe
