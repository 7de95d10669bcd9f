#include "compiler/codegen/llvm/kernel_signature.h"

#include <fmt/format.h>

#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr size_t kMaxParams = 4096;

class AccessCollector : public StmtExprVisitor {
 public:
  std::unordered_set<const BufferNode*> read, written;

 protected:
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    written.insert(store.buffer.get());
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    read.insert(load.buffer.get());
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
  if (!buffer->strides.empty() || !IsConstInt(buffer->elem_offset, 0)) {
    return InvalidArgument(fmt::format(
        "codegen @{} parameter \"{}\": strides and offsets are not part of the kernel ABI; pass a compact buffer",
        func.name, buffer->name));
  }
  if (buffer->dtype.lanes != 1) {
    return InvalidArgument(
        fmt::format("codegen @{} parameter \"{}\": element type {} is a vector; declare scalar elements", func.name,
                    buffer->name, buffer->dtype.ToString()));
  }
  return OkStatus();
}

void AddSymbol(const Expr& extent, std::vector<Var>& symbols) {
  const Var var(extent);
  for (const Var& known : symbols) {
    if (known.same_as(var)) return;
  }
  symbols.push_back(var);
}

// Positions of the parameters that are weights: the same in every call (written by FuseTIR).
std::unordered_set<int64_t> ConstantPositions(const PrimFunc& func) {
  std::unordered_set<int64_t> positions;
  const auto attr = func.attrs.find("constant_params");
  if (attr == func.attrs.end()) return positions;
  if (const auto* list = std::get_if<std::vector<Attr>>(&attr->second)) {
    for (const Attr& item : *list) {
      if (const auto* position = std::get_if<int64_t>(&item)) positions.insert(*position);
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
  for (size_t i = 0; i < func.params.size(); ++i) {
    SignatureParam param;
    if (const auto* buffer = std::get_if<Buffer>(&func.params[i])) {
      RETURN_IF_ERROR(CheckBuffer(func, *buffer));
      param = {.name = (*buffer)->name,
               .buffer = *buffer,
               .is_read = access.read.contains(buffer->get()),
               .is_written = access.written.contains(buffer->get()),
               .is_constant = constants.contains(static_cast<int64_t>(i))};
      for (const Expr& extent : (*buffer)->shape) {
        if (AsIntConst(extent) != nullptr) continue;
        if (!IsVar(extent)) {
          return InvalidArgument(
              fmt::format("codegen @{} parameter \"{}\": an extent is neither a constant nor a variable; give it a "
                          "variable of its own",
                          func.name, (*buffer)->name));
        }
        AddSymbol(extent, signature.symbols);
      }
    } else {
      const Var& var = std::get<Var>(func.params[i]);
      if (var.dtype().lanes != 1 || var.dtype().code == DataType::Code::kHandle) {
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
