// Loaded artifacts and tensors, as Python holds them.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/ndarray.h"

namespace lathe::python {

// A loaded artifact. Calls run on the calling thread and on this process's pool.
class RuntimeModule {
 public:
  static std::shared_ptr<RuntimeModule> Load(const std::string& path);
  std::vector<std::string> Names() const;
  // Runs kernel `name` (empty: the only one): buffers are NDArrays, scalars numbers, in parameter order.
  void Call(const std::string& name, const pybind11::args& args) const;

 private:
  explicit RuntimeModule(Artifact artifact) : artifact_(std::move(artifact)) {}
  Artifact artifact_;
};

}  // namespace lathe::python
