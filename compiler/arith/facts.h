// The store of what is known about integer variables: found by variable, undone to a mark.
#pragma once

#include <boost/container/small_vector.hpp>
#include <memory>
#include <optional>
#include <unordered_set>
#include <variant>
#include <vector>

#include "compiler/arith/bounds.h"
#include "compiler/ir/expr.h"

namespace lathe {

struct LinearForm;

struct VarFacts {
  IntBound bound;
  ModularSet modular;
  std::shared_ptr<const LinearForm> value;  // What the variable equals, if known.
};

// Layers: what `outer` knows is known here, too; `outer` outlives this and does not change meanwhile. Copies are
// independent, over the same `outer`.
class Facts {
 public:
  explicit Facts(const Facts* outer = nullptr) : outer_(outer) {}

  const VarFacts* Find(const ExprNode* var) const;  // nullptr: nothing is known. Valid until the next change.
  void Set(const Var& var, VarFacts facts);
  void Forget(const Var& var);  // Also what is known of others through it.
  void AddNonNegative(LinearForm form);
  // The forms known to be >= 0 that may share a term with `form`.
  boost::container::small_vector<const LinearForm*, 8> NonNegativeAbout(const LinearForm& form) const;

  // Its end forgets what `facts` learnt since its beginning. Scopes end in the reverse order of their beginning.
  class Scope {
   public:
    explicit Scope(Facts& facts) : facts_(facts), num_changes_(facts.changes_.size()), num_forms_(facts.forms_.size()) {
      ++facts.num_scopes_;
    }
    ~Scope() {
      facts_.UndoTo(num_changes_, num_forms_);
      --facts_.num_scopes_;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Facts& facts_;
    const size_t num_changes_, num_forms_;
  };

 private:
  struct Entry {
    Var var;                        // Keeps the key's address from being used again.
    std::optional<VarFacts> facts;  // nullopt: forgotten, whatever the layers outside know.
  };
  struct KnownForm {
    std::shared_ptr<const LinearForm> form;
    uint64_t sources;  // One bit for the source of each term, by hash: most others are told apart by it.
  };
  struct VarChange {
    size_t entry;
    std::optional<Entry> before;  // nullopt: this layer had no entry; it is the last.
  };
  using FormChange = const LinearForm*;  // Was added to forgotten_.

  void UndoTo(size_t num_changes, size_t num_forms);
  const Entry* FindEntry(const ExprNode* var) const;
  void SetEntry(const Var& var, std::optional<VarFacts> facts);
  void NoteMentions(const LinearForm& form);
  bool IsMentioned(const ExprNode* var) const;
  template <typename F>
  void ForEachForm(const F& f) const;  // f(const KnownForm&), of all layers, forgotten ones left out.
  std::vector<Var> VarsWithValueOf(const ExprNode* var) const;

  const Facts* outer_;
  // In order of first mention. A dozen or two, as a rule, and asked for far more often than made: looked through from
  // the newest, which beats any index.
  boost::container::small_vector<Entry, 16> vars_;
  std::vector<KnownForm> forms_;
  std::unordered_set<const LinearForm*> forgotten_;           // Of this layer or of those outside.
  std::unordered_set<const ExprNode*> mentioned_;             // Variables that a form or a value of this layer may use.
  std::vector<std::variant<VarChange, FormChange>> changes_;  // Since the first of the scopes that live.
  size_t num_scopes_ = 0;
};

}  // namespace lathe
