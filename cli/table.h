// Text tables and numbers for people.
#pragma once

#include <string>
#include <vector>

namespace lathe {

// Columns as wide as their widest cell, the first one left-aligned, the others right-aligned; a line under the header.
std::string RenderTable(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);

std::string FormatTime(double ns);      // "12.3 us"; "-" for 0.
std::string FormatSeconds(double s);    // "45 s", "3 min 20 s"

}  // namespace lathe
