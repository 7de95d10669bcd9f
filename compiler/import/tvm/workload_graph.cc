#include "compiler/import/tvm/workload_graph.h"

#include "compiler/import/tvm/node_graph.h"
#include "compiler/import/tvm/script_writer.h"
#include "compiler/script/parser.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// Name -> function, in the order of the file. Keys of the map are GlobalVars.
Status WriteFunctions(const NodeGraph& graph, std::string& text) {
  if (graph.TypeOf(graph.root()) != "IRModule") return graph.Error(graph.root(), "the root is no IRModule");
  ASSIGN_OR_RETURN(const int functions, graph.Ref(graph.root(), "functions"));
  const std::vector<int>& items = graph.Items(functions);
  if (items.size() % 2 != 0) return graph.Error(functions, "a key without a value");
  for (size_t i = 0; i < items.size(); i += 2) {
    ASSIGN_OR_RETURN(const int name, graph.Ref(items[i], "name_hint"));
    ASSIGN_OR_RETURN(const std::string given, graph.StringOf(name));
    TvmScriptWriter writer(graph);
    RETURN_IF_ERROR(writer.WriteFunction(items[i + 1], given));
    text += writer.TakeText();
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::string> TvmModuleToScript(std::string_view graph_text) {
  ASSIGN_OR_RETURN(const NodeGraph graph, NodeGraph::Read(graph_text));
  std::string text = "from tvm.script import tir as T\n";
  RETURN_IF_ERROR(WriteFunctions(graph, text));
  return text;
}

StatusOr<IRModule> ReadTvmModule(std::string_view graph) {
  ASSIGN_OR_RETURN(const std::string text, TvmModuleToScript(graph));
  return ParseModule(text, "workload");
}

}  // namespace lathe
