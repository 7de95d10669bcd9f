// What the text of a decorated function takes from the program around it.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "compiler/script/surroundings.h"

namespace lathe::python {

// `text` stands from line `first_line` of its file on, indented or not: errors then name the file's own lines and
// columns. An indented text becomes the body of a class, which needs the line before it.
std::string AtItsPlace(const std::string& text, int first_line);

class PythonEvaluator;
// What the names of a dict mean to the parser: those that it can hold are constants, all are known where Python
// evaluates. None: a text that stands for itself; nothing of it is evaluated. is_checked: each variable has a value.
class NamesAround {
 public:
  NamesAround(const pybind11::object& known, bool is_checked);
  ~NamesAround();
  const Surroundings& around() const;

 private:
  std::shared_ptr<PythonEvaluator> evaluator_;
};

}  // namespace lathe::python
