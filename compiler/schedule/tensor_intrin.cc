#include "compiler/schedule/tensor_intrin.h"

#include <fmt/core.h>

#include <map>
#include <mutex>

#include "compiler/schedule/builtin_intrin.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

struct Table {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const TensorIntrin>, std::less<>> intrins;
};
Table& TheTable() {
  static Table* table = new Table();
  return *table;
}

Status CheckParams(const PrimFunc& func, std::string_view part) {
  for (const Var& param : func.params) {
    if (FindBuffer(func, param) == nullptr)
      return InvalidArgument(
          fmt::format("tensor intrinsic: expected handles of buffers as parameters of the {}, got "
                      "\"{}\" of {}",
                      part, param.name(), param.dtype().ToString()));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::shared_ptr<const TensorIntrin>> MakeTensorIntrin(PrimFunc description, PrimFunc implementation) {
  if (description.params.size() != implementation.params.size())
    return InvalidArgument(
        fmt::format("tensor intrinsic: expected as many parameters of the implementation as of the "
                    "description, {}, got {}",
                    description.params.size(), implementation.params.size()));
  RETURN_IF_ERROR(CheckParams(description, "description"));
  RETURN_IF_ERROR(CheckParams(implementation, "implementation"));
  return std::make_shared<const TensorIntrin>(TensorIntrin{std::move(description), std::move(implementation)});
}

Status RegisterTensorIntrin(const std::string& name, std::shared_ptr<const TensorIntrin> intrin, bool replaces) {
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  if (!replaces && table.intrins.contains(name))
    return AlreadyExists(
        fmt::format("register tensor intrinsic \"{}\": it has already been registered; pass override "
                    "to replace it",
                    name));
  table.intrins.insert_or_assign(name, std::move(intrin));
  return OkStatus();
}

StatusOr<std::shared_ptr<const TensorIntrin>> GetTensorIntrin(std::string_view name) {
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  const auto found = table.intrins.find(name);
  if (found != table.intrins.end()) return found->second;
  ASSIGN_OR_RETURN(std::shared_ptr<const TensorIntrin> made, MakeBuiltinIntrin(name));
  return table.intrins.emplace(std::string(name), std::move(made)).first->second;
}

}  // namespace lathe
