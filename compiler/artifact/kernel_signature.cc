#include "compiler/artifact/kernel_signature.h"

#include <fmt/format.h>

#include "compiler/ir/number_attr.h"
#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr size_t kMaxParams = 4096;

class AccessCollector : public StmtExprVisitor {
 public:
  std::unordered_set<const ExprNode*> read, written;  // Data variables.

 protected:
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    written.insert(store.buffer->data.get());
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    read.insert(load.buffer->data.get());
    StmtExprVisitor::VisitBufferLoad(self, load);
  }
};

std::string SymbolName(std::string_view name, size_t position) {
  std::string symbol = fmt::format("lathe_kernel_{}_", position);
  for (const char c : name.substr(0, 100)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    symbol += is_plain ? c : '_';
  }
  return symbol;
}

Status CheckBuffer(const PrimFunc& func, const Buffer& buffer) {
  if (buffer->dtype.lanes != 1) {
    return InvalidArgument(
        fmt::format("codegen @{} parameter \"{}\": element type {} is a vector; declare scalar elements", func.name,
                    buffer->name, buffer->dtype.ToString()));
  }
  return OkStatus();
}

// Variables that stand alone as an extent, stride or offset, and are no parameters.
void AddSymbols(const BufferNode& buffer, const std::unordered_set<const ExprNode*>& scalars,
                std::vector<Var>& symbols) {
  std::vector<Expr> numbers = buffer.shape;
  numbers.insert(numbers.end(), buffer.strides.begin(), buffer.strides.end());
  numbers.push_back(buffer.elem_offset);
  for (const Expr& number : numbers) {
    if (!IsVar(number) || scalars.contains(number.get())) continue;
    if (std::none_of(symbols.begin(), symbols.end(), [&](const Var& known) { return known.same_as(number); }))
      symbols.emplace_back(number);
  }
}

SignatureParam AddressParam(const Var& var, const AccessCollector& access) {
  SignatureParam param{.name = var.name(),
                       .address = var,
                       .is_read = access.read.contains(var.get()),
                       .is_written = access.written.contains(var.get())};
  const PointerType* pointer = var.pointer();
  if (pointer != nullptr && pointer->element.code != DataType::Code::kHandle)
    param.pointee = pointer->element.element();
  return param;
}

// Positions of the parameters that are weights: the same in every call (written by FuseTIR).
std::unordered_set<int64_t> ConstantPositions(const PrimFunc& func) {
  std::unordered_set<int64_t> positions;
  const auto attr = func.attrs.find("constant_params");
  if (attr == func.attrs.end()) return positions;
  if (const auto* list = std::get_if<std::vector<Attr>>(&attr->second)) {
    for (const Attr& item : *list) {
      if (const auto position = IntOf(item)) positions.insert(*position);
    }
  }
  return positions;
}

}  // namespace

StatusOr<KernelSignature> MakeSignature(const PrimFunc& func, size_t position) {
  KernelSignature signature{.name = func.name, .symbol = SymbolName(func.name, position)};
  if (func.params.size() > kMaxParams)
    return InvalidArgument(fmt::format("codegen @{}: {} parameters, at most {}; split the function", func.name,
                                       func.params.size(), kMaxParams));
  AccessCollector access;
  access(func.body);
  const std::unordered_set<int64_t> constants = ConstantPositions(func);
  const std::vector<Param> params = ParamsOf(func);
  std::unordered_set<const ExprNode*> scalars;
  for (const Param& param : params)
    if (const auto* var = std::get_if<Var>(&param)) scalars.insert(var->get());
  for (size_t i = 0; i < params.size(); ++i) {
    SignatureParam param;
    if (const auto* buffer = std::get_if<Buffer>(&params[i])) {
      RETURN_IF_ERROR(CheckBuffer(func, *buffer));
      param = {.name = (*buffer)->name,
               .buffer = *buffer,
               .is_read = access.read.contains((*buffer)->data.get()),
               .is_written = access.written.contains((*buffer)->data.get()),
               .is_constant = constants.contains(static_cast<int64_t>(i))};
      AddSymbols(**buffer, scalars, signature.symbols);
    } else if (const Var& var = std::get<Var>(params[i]); var.dtype().code == DataType::Code::kHandle) {
      param = AddressParam(var, access);
    } else {
      if (var.dtype().lanes != 1) {
        return InvalidArgument(fmt::format("codegen @{} parameter \"{}\": type {} is not a scalar number", func.name,
                                           var.name(), var.dtype().ToString()));
      }
      param = {.name = var.name(), .scalar = var, .is_read = true};
    }
    signature.params.push_back(std::move(param));
  }
  return signature;
}

}  // namespace lathe
