// libFuzzer: any text inside of a program whose names mean anything is a module that prints, or an error. What the
// program answers follows from the text of the question alone, so that what is found is found again.
#include <functional>
#include <string>

#include "compiler/script/printer.h"
#include "compiler/script/surroundings.h"

namespace lathe {
namespace {

class AnyObject : public HostObject {
 public:
  std::string Describe() const override { return "an object"; }
};

constexpr std::string_view kMacro = "@T.macro\ndef m(a, b=2):\n    for i in range(a):\n        T.evaluate(i + b)\n";

// One answer of each kind that a program may give, an error among them.
class AnyProgram : public ScriptEvaluator {
 public:
  explicit AnyProgram(int depth)
      : depth_(depth), size_("n"), buffer_(MakeBuffer("P", {size_, 4}, DataType::Float(32), "global")) {}
  StatusOr<ScriptValue> Evaluate(std::string_view text, uint32_t, const ScriptScope& scope) override {
    const size_t kind = std::hash<std::string_view>()(text) % 12;
    switch (kind) {
      case 0:
        return InvalidArgument("no such name");
      case 1:
        return ScriptValue(Expr(int32_t(text.size() % 9) - 1));
      case 2:
        return ScriptValue(Expr(size_));
      case 3:
        return ScriptValue(buffer_);
      case 4:
        return ScriptValue(DataType::Float(16));
      case 5:
        return ScriptValue(Attr(std::string(text)));
      case 6:
        return ScriptValue(Attr(int64_t(text.size())));
      case 7:
        return ScriptValue(BufferRegion{buffer_, {{Expr(0), Expr(2)}, {Expr(1), Expr(3)}}});
      case 8:
        return ScriptValue(std::vector<ScriptValue>{Expr(size_), Expr(4)});
      case 9:
        return ScriptValue(std::shared_ptr<const HostObject>(std::make_shared<AnyObject>()));
      case 10:
        return depth_ < 2 ? Macro() : ScriptValue(Expr(1));
      default:
        return scope.empty() ? ScriptValue(Attr(std::monostate{})) : scope[text.size() % scope.size()].second;
    }
  }
  const ConstantTable& constants() const { return constants_; }

 private:
  ScriptValue Macro() const {
    auto macro = std::make_shared<ScriptMacro>();
    macro->file_name = "macro.py";
    macro->text = kMacro;
    macro->tir_names = {"T"};
    auto around = std::make_shared<AnyProgram>(depth_ + 1);
    macro->constants = &around->constants();
    macro->evaluator = std::move(around);
    return ScriptValue(std::shared_ptr<const ScriptMacro>(std::move(macro)));
  }

  const int depth_;
  Var size_;
  Buffer buffer_;
  ConstantTable constants_;
};

}  // namespace
}  // namespace lathe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lathe;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  AnyProgram program(0);
  Surroundings around;
  around.constants = {{"N", Expr(8)}, {"M", Expr(Var("m"))}, {"dtype", Attr(std::string("float32"))}};
  around.tir_names = {"tx"};
  around.tir_members = {{"Buf", "Buffer"}, {"S", "axis.spatial"}};
  around.evaluator = &program;
  const StatusOr<IRModule> module = ParseModule(text, "fuzz.py", around);
  if (module.ok())
    Print(*module);
  else
    CHECK(!module.status().ToString().empty()) << "an error says nothing";
  return 0;
}
