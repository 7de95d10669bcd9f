// Where the tuning database is.
#pragma once

#include <string>

#include "support/status.h"

namespace lathe {

// `flag` (--db) if it is not empty, else $LATHE_DB, else ${XDG_DATA_HOME:-~/.local/share}/lathe/lathe.db.
std::string DatabasePath(const std::string& flag);
// ${XDG_DATA_HOME:-~/.local/share}/lathe.
std::string DataFolder();
// Creates the folder that the file is in.
Status CreateFolderOf(const std::string& path);
// Whole, so that a path that is printed can be typed from anywhere.
std::string AbsolutePath(const std::string& path);

}  // namespace lathe
