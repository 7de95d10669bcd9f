#include "compiler/relax/printer.h"

#include <fmt/format.h>

#include "compiler/relax/op.h"
#include "compiler/relax/visitor.h"
#include "compiler/script/printer.h"

namespace lathe::relax {
namespace {

std::string AttrText(const Attr& attr) {
  if (const auto* text = std::get_if<std::string>(&attr)) return fmt::format("\"{}\"", *text);
  if (const auto* flag = std::get_if<bool>(&attr)) return *flag ? "True" : "False";
  if (const auto* number = std::get_if<int64_t>(&attr)) return fmt::format("{}", *number);
  if (const auto* number = std::get_if<double>(&attr)) return fmt::format("{}", *number);
  if (const auto* value = std::get_if<lathe::Expr>(&attr)) return lathe::Print(*value);
  std::vector<std::string> items;
  if (const auto* map = std::get_if<AttrMap>(&attr)) {
    for (const auto& [key, value] : *map) items.push_back(fmt::format("\"{}\": {}", key, AttrText(value)));
    return fmt::format("{{{}}}", fmt::join(items, ", "));
  }
  const auto* list = std::get_if<std::vector<Attr>>(&attr);
  if (list == nullptr) return "None";
  for (const Attr& item : *list) items.push_back(AttrText(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

class Printer {
 public:
  std::string Text(const Expr& e) {
    if (const auto* var = e.As<VarName>()) return var->name;
    if (const auto* global = e.As<GlobalVar>()) return "cls." + global->name;
    if (const auto* shape = e.As<ShapeExpr>()) {
      const std::string text = ToText(shape->values);
      return fmt::format("R.shape([{}])", text.substr(1, text.size() - (text.ends_with(",)") ? 3 : 2)));
    }
    if (const auto* constant = e.As<Constant>()) return ConstantText(*constant);
    if (const auto* tuple = e.As<TupleExpr>())
      return fmt::format("({}{})", Join(tuple->fields, 0), tuple->fields.size() == 1 ? "," : "");
    if (const auto* item = e.As<TupleGetItem>()) return fmt::format("{}[{}]", Text(item->tuple), item->index);
    return CallText(*e.As<Call>(), e.struct_info());
  }

 private:
  std::string Join(const std::vector<Expr>& exprs, size_t begin) {
    std::vector<std::string> texts;
    for (size_t i = begin; i < exprs.size(); ++i) texts.push_back(Text(exprs[i]));
    return fmt::format("{}", fmt::join(texts, ", "));
  }
  std::string ConstantText(const Constant& constant) {
    const TensorData& data = constant.data;
    if (data.num_elements() == 1 && data.shape().empty())
      return fmt::format("R.const({}, \"{}\")", data.ToDoubles()[0], data.dtype().ToString());
    return fmt::format("metadata[\"relax.expr.Constant\"][{}]", num_constants_++);
  }
  std::string CallText(const Call& call, const StructInfo& info) {
    if (call.op == nullptr) return fmt::format("{}({})", Text(call.args[0]), Join(call.args, 1));
    std::string text = fmt::format("R.{}({}", call.op->name, Join(call.args, 0));
    for (const auto& [name, attr] : call.attrs) text += fmt::format(", {}={}", name, AttrText(attr));
    if (call.op == &CallTirOp()) text += fmt::format(", out_sinfo={}", ToText(info));
    return text + ")";
  }
  int num_constants_ = 0;
};

std::string Indent(const std::string& text) {
  std::string result;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) result += "    " + text.substr(begin, end - begin);
    result += "\n";
    begin = end + 1;
  }
  return result;
}

std::string PrintBlock(const BindingBlock& block, Printer& printer) {
  std::string lines;
  std::vector<std::string> outputs;
  for (const Binding& binding : block.bindings) {
    lines += fmt::format("{}: {} = {}\n", binding.var.name(), ToText(binding.var.struct_info()),
                         printer.Text(binding.value));
    if (!binding.var.is_dataflow()) outputs.push_back(binding.var.name());
  }
  if (block.bindings.empty()) return "";
  if (!block.is_dataflow) return lines;
  return fmt::format("with R.dataflow():\n{}", Indent(lines + fmt::format("R.output({})\n", fmt::join(outputs, ", "))));
}

}  // namespace

std::string Print(const Expr& e) { return Printer().Text(e); }

std::string Print(const Function& func) {
  Printer printer;
  std::vector<std::string> params;
  for (const Var& param : func.params)
    params.push_back(fmt::format("{}: {}", param.name(), ToText(param.struct_info())));
  std::string body;
  std::vector<std::string> attrs;
  for (const auto& [name, attr] : func.attrs) attrs.push_back(fmt::format("\"{}\": {}", name, AttrText(attr)));
  if (!attrs.empty()) body += fmt::format("R.func_attr({{{}}})\n", fmt::join(attrs, ", "));
  for (const BindingBlock& block : func.body.blocks) body += PrintBlock(block, printer);
  body += fmt::format("return {}\n", printer.Text(func.body.body));
  return fmt::format("@R.function\ndef {}({}) -> {}:\n{}", func.name, fmt::join(params, ", "),
                     ToText(func.body.body.struct_info()), Indent(body));
}

std::string Print(const IRModule& module) {
  std::string body;
  for (const PrimFunc& func : module.prim_funcs) body += lathe::Print(func) + "\n";
  for (const Function& func : module.functions) body += Print(func) + "\n";
  return "from tvm.script import ir as I\nfrom tvm.script import relax as R\nfrom tvm.script import tir as "
         "T\n\n\n@I.ir_module\nclass Module:\n" +
         Indent(body);
}

}  // namespace lathe::relax
