// The whole program, callable: main and the tests use it.
#pragma once

namespace lathe {

int RunLathe(int argc, char** argv);  // Returns the exit code.

}  // namespace lathe
