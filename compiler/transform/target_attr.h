// What the attribute "target" of a function says.
#pragma once

#include <optional>
#include <string>

#include "compiler/ir/stmt.h"
#include "compiler/target/target_description.h"

namespace lathe {

// A target, as T.target(...) of a text has it: {"T.target": a text or a map, "host": ...}.
const AttrMap* TargetOf(const AttrMap& attrs);  // nullptr: there is none.
std::string KindOf(const AttrMap& target);      // "cuda", "llvm" ...; empty: it says none.
// All that the target of a function says, defaults included; nullopt: there is none. InvalidArgument: it is none that
// TargetDescription reads.
StatusOr<std::optional<TargetDescription>> DescriptionOf(const AttrMap& attrs);
bool HasScalableVectors(const TargetDescription& target);  // SVE, by its attributes or its CPU.
std::optional<AttrMap> HostOf(const AttrMap& target);
AttrMap WithoutHost(AttrMap target);
// DLPack's number of the devices that a kind of target is for; 0: unknown.
int DeviceTypeOf(const std::string& kind);

std::string TargetKind(const AttrMap& attrs);  // KindOf its target; empty: there is none.

}  // namespace lathe
