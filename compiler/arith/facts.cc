#include "compiler/arith/facts.h"

#include <algorithm>

#include "compiler/arith/linear.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

bool Mentions(const LinearForm& form, const ExprNode* var) {
  return std::any_of(form.terms.begin(), form.terms.end(), [&](const Term& term) { return UsesVar(term.source, var); });
}

// Equal sources have equal hashes; two levels of the tree tell most others apart.
uint64_t SourceHash(const Expr& e, int depth = 2) {
  if (IsVar(e)) return reinterpret_cast<uintptr_t>(e.get()) >> 4;
  if (const int64_t* value = AsIntConst(e)) return static_cast<uint64_t>(*value);
  const Binary* op = e.As<Binary>();
  if (op == nullptr || depth == 0) return e.node().value.index();
  return (SourceHash(op->a, depth - 1) * 31 + SourceHash(op->b, depth - 1)) * 31 + static_cast<uint64_t>(op->op);
}

uint64_t SourcesOf(const LinearForm& form) {
  uint64_t bits = 0;
  for (const Term& term : form.terms) bits |= uint64_t{1} << (SourceHash(term.source) * 0x9E3779B97F4A7C15u >> 58);
  return bits;
}

}  // namespace

const VarFacts* Facts::Find(const ExprNode* var) const {
  if (const Entry* entry = FindEntry(var)) return entry->facts ? &*entry->facts : nullptr;
  return outer_ != nullptr ? outer_->Find(var) : nullptr;
}

const Facts::Entry* Facts::FindEntry(const ExprNode* var) const {
  for (size_t i = vars_.size(); i-- > 0;)
    if (vars_[i].var.get() == var) return &vars_[i];
  return nullptr;
}

void Facts::SetEntry(const Var& var, std::optional<VarFacts> facts) {
  const Entry* known = FindEntry(var.get());
  const size_t place = known == nullptr ? vars_.size() : static_cast<size_t>(known - vars_.data());
  if (num_scopes_ != 0) changes_.push_back(VarChange{place, known == nullptr ? std::nullopt : std::optional(*known)});
  if (known == nullptr)
    vars_.push_back(Entry{var, std::move(facts)});
  else
    vars_[place].facts = std::move(facts);
}

void Facts::Set(const Var& var, VarFacts facts) {
  if (facts.value != nullptr) NoteMentions(*facts.value);
  SetEntry(var, std::move(facts));
}

void Facts::Forget(const Var& var) {
  if (Find(var.get()) != nullptr) SetEntry(var, std::nullopt);
  if (!IsMentioned(var.get())) return;
  for (const Var& other : VarsWithValueOf(var.get())) SetEntry(other, std::nullopt);
  std::vector<const LinearForm*> forgotten;
  ForEachForm([&](const KnownForm& known) {
    if (Mentions(*known.form, var.get())) forgotten.push_back(known.form.get());
  });
  for (const LinearForm* form : forgotten) {
    forgotten_.insert(form);
    if (num_scopes_ != 0) changes_.push_back(form);
  }
}

void Facts::AddNonNegative(LinearForm form) {
  NoteMentions(form);
  const uint64_t sources = SourcesOf(form);
  forms_.push_back({std::make_shared<const LinearForm>(std::move(form)), sources});
}

boost::container::small_vector<const LinearForm*, 8> Facts::NonNegativeAbout(const LinearForm& form) const {
  boost::container::small_vector<const LinearForm*, 8> found;
  const uint64_t sources = SourcesOf(form);
  ForEachForm([&](const KnownForm& known) {
    if ((known.sources & sources) != 0) found.push_back(known.form.get());
  });
  return found;
}

void Facts::UndoTo(size_t num_changes, size_t num_forms) {
  for (; changes_.size() > num_changes; changes_.pop_back()) {
    if (const FormChange* form = std::get_if<FormChange>(&changes_.back())) {
      forgotten_.erase(*form);
      continue;
    }
    VarChange& change = std::get<VarChange>(changes_.back());
    if (change.before)
      vars_[change.entry] = *std::move(change.before);
    else
      vars_.pop_back();
  }
  forms_.resize(num_forms);
  if (vars_.empty() && forms_.empty()) mentioned_.clear();
}

void Facts::NoteMentions(const LinearForm& form) {
  for (const Term& term : form.terms) {
    UsesVar(term.source, [&](const ExprNode* var) {
      mentioned_.insert(var);
      return false;
    });
  }
}

bool Facts::IsMentioned(const ExprNode* var) const {
  return (!mentioned_.empty() && mentioned_.count(var) != 0) || (outer_ != nullptr && outer_->IsMentioned(var));
}

template <typename F>
void Facts::ForEachForm(const F& f) const {
  for (const Facts* layer = this; layer != nullptr; layer = layer->outer_) {
    for (const KnownForm& known : layer->forms_) {
      bool is_forgotten = false;
      for (const Facts* inner = this; inner != nullptr; inner = inner == layer ? nullptr : inner->outer_)
        is_forgotten |= !inner->forgotten_.empty() && inner->forgotten_.count(known.form.get()) != 0;
      if (!is_forgotten) f(known);
    }
  }
}

std::vector<Var> Facts::VarsWithValueOf(const ExprNode* var) const {
  std::vector<Var> found;
  for (const Facts* layer = this; layer != nullptr; layer = layer->outer_) {
    for (const Entry& entry : layer->vars_) {
      const VarFacts* facts = Find(entry.var.get());
      if (facts != nullptr && facts->value != nullptr && Mentions(*facts->value, var)) found.push_back(entry.var);
    }
  }
  return found;
}

}  // namespace lathe
