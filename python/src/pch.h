// What every file of the binding includes, compiled once: pybind11's templates cost more than the files.
#pragma once
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "cmake/pch.h"
