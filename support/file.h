// Whole files, and places to write to.
#pragma once

#include <string>
#include <string_view>

#include "support/status.h"

namespace lathe {

// Of an errno: the disk or a quota is full, which passes.
bool MeansFullDisk(int error);

// The file's bytes. NotFound if it cannot be opened, InvalidArgument if it is a folder, Unavailable if reading fails.
StatusOr<std::string> ReadWholeFile(const std::string& path);

// Writes them. What OutputFile refuses is refused; ResourceExhausted or NotFound where writing fails.
Status WriteWholeFile(const std::string& path, std::string_view bytes);

// A file that only its owner may read (mode 0600) takes the place of what was there: whole, and after power loss too,
// or not at all. Its folder exists; it is no link.
Status WriteSecretFile(const std::string& path, std::string_view bytes);
// What names lie in the folder of `path` lasts, power loss or not. False with errno where that fails.
bool SyncFolderOf(const std::string& path);
// PermissionDenied if anybody but its owner may read or write it.
StatusOr<std::string> ReadSecretFile(const std::string& path);
// The same, aside and renamed: the file appears under its name only when it is whole.
Status WriteAside(const std::string& path, std::string_view bytes);

// Where a file that is to be named `path` is written: itself, or what it links to. InvalidArgument if a folder, device,
// pipe, socket or database (SQLite's, or a file that it keeps beside itself) is there: renaming a file over it would
// destroy it.
StatusOr<std::string> OutputFile(const std::string& path);

}  // namespace lathe
