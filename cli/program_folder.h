// Where this program lies: its companions (lathe-builder, lathe-runner, ...) are beside it.
#pragma once

#include <string>

namespace lathe {

std::string ProgramFolder();  // Without a slash at its end.

}  // namespace lathe
