// Loaded artifacts and tensors, as Python holds them.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/ndarray.h"

namespace lathe::python {

// A loaded artifact. Calls run on the calling thread and on this process's pool of as many threads.
class RuntimeModule {
 public:
  // `keeps` lives as long as the module: who removes the file at its end.
  static std::shared_ptr<RuntimeModule> Load(const std::string& path, std::shared_ptr<const void> keeps = nullptr);
  std::vector<std::string> Names() const;
  const std::string& path() const { return path_; }  // The shared object.
  // Runs kernel `name` (empty: the only one): buffers are NDArrays, scalars numbers, in parameter order. What it
  // returns, or None.
  pybind11::object Call(const std::string& name, const pybind11::args& args) const;

 private:
  RuntimeModule(Artifact artifact, std::string path, std::shared_ptr<const void> keeps);
  Artifact artifact_;
  std::string path_;
  std::shared_ptr<const void> keeps_;
  const int num_threads_;  // CPUs of this process, and no more than its target's cores.
};

}  // namespace lathe::python
