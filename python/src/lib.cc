// lathe._lib: what the Python package stands on.
#include "python/src/argument_errors.h"
#include "python/src/bind.h"
#include "python/src/errors.h"
#include "python/src/node.h"

PYBIND11_MODULE(_lib, module) {
  using namespace lathe::python;
  BindErrors();
  BindNode(module);
  BindModule(module);
  BindFunc(module);
  BindScript(module);
  BindStructural(module);
  BindTrace(module);
  BindExpr(module);
  BindStmt(module);
  BindArith(module);
  BindIntConstraints(module);
  BindIterMap(module);
  BindLayout(module);
  BindFunctor(module);
  BindAnalysis(module);
  BindPasses(module);
  BindRuntime(module);
  BindBuild(module);
  BindTensorIntrin(module);
  BindSchedule(module);
  BindTe(module);
  BindStages(module);
  BindTopi(module);
  module.def("_check", [](bool holds) { CHECK(holds) << "asked for by a test"; });
  ExplainArguments(module);
}
