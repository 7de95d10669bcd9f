// What a bound function says where an argument is of another type than it takes. pybind11 shows signatures of its own,
// which a program knows nothing of.
#pragma once

#include <pybind11/pybind11.h>

namespace lathe::python {

// Casters say which object they could not take, and what they make: "expression". It counts where nothing else takes
// the object either.
void NoteRefusal(pybind11::handle object, const char* wanted);
// A value of the program, not an argument, could not be taken: a TypeError that ExplainArguments words.
void RaiseCastError();

// Lets the functions of the module and of its submodules, and the methods of its classes, name the argument and what it
// is. An argument called "operation" names what is done; the ones after it are that operation's.
void ExplainArguments(pybind11::module_& module);

}  // namespace lathe::python
