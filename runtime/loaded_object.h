// A shared object that needs nothing of anybody, as artifacts are, mapped without the dynamic loader: so that a static
// program on a board can load one. Nothing of it runs before a function that was found in it is called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "runtime/error.h"

namespace lathe {

class LoadedObject {
 public:
  // Maps the segments of the file at `path`, which must be for this machine, with their final permissions: never both
  // writable and executable. Refuses what needs more than that (FailedPrecondition: libraries, constructors, symbols of
  // others, thread-local data, segments that this machine's pages cannot hold apart) and what is inconsistent
  // (DataLoss). The file must not shrink while the object lives.
  static RuntimeResult<LoadedObject> Map(const std::string& path);

  LoadedObject(LoadedObject&& other) noexcept;
  LoadedObject& operator=(LoadedObject&&) = delete;
  ~LoadedObject();  // Unmaps: no function of it may be running, or be called later.

  // The address of an exported symbol; nullptr if there is none. Lives as long as this object.
  void* Find(std::string_view symbol) const;

 private:
  friend class ObjectMapper;
  LoadedObject() = default;
  std::byte* base_ = nullptr;  // Where address 0 of the file lies.
  size_t bytes_ = 0;
  std::map<std::string, uintptr_t, std::less<>> symbols_;
};

}  // namespace lathe
