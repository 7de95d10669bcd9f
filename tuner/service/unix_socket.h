// Unix sockets by path.
#pragma once

#include <string>

namespace lathe {

// False for a path that is no socket, too long for one, or whose server has died.
bool SomebodyListens(const std::string& unix_path);

}  // namespace lathe
