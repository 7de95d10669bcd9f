#include "compiler/ir/contraction.h"

namespace lathe {
namespace {

struct Factor {
  const BufferLoad* load;
  bool is_converted;
};

Factor FactorOf(const Expr& e) {
  const Cast* cast = e.As<Cast>();
  return {(cast == nullptr ? e : cast->value).As<BufferLoad>(), cast != nullptr};
}

}  // namespace

std::optional<Contraction> ContractionOf(const BlockNode& block) {
  const BufferStore* store = block.body.As<BufferStore>();
  const Binary* sum = store == nullptr ? nullptr : store->value.As<Binary>();
  if (sum == nullptr || sum->op != BinaryOp::kAdd || store->predicate) return std::nullopt;
  for (const auto& [old, added] : {std::pair(sum->a, sum->b), std::pair(sum->b, sum->a)}) {
    const BufferLoad* before = old.As<BufferLoad>();
    const Binary* product = added.As<Binary>();
    if (before == nullptr || !before->buffer.same_as(store->buffer)) continue;
    if (product == nullptr || product->op != BinaryOp::kMul) continue;
    const Factor a = FactorOf(product->a), b = FactorOf(product->b);
    if (a.load == nullptr || b.load == nullptr || a.load->buffer.same_as(b.load->buffer)) continue;
    return Contraction{a.load, b.load, a.is_converted, b.is_converted};
  }
  return std::nullopt;
}

}  // namespace lathe
