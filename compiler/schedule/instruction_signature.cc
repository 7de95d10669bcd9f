#include "compiler/schedule/instruction_signature.h"

#include <string>

namespace lathe {

std::span<const Signature> Signatures() {
  static const std::vector<Signature> signatures = {
      {"GetBlock", false, {{"name", Keep::kAttr}, {"func_name", Keep::kAttr, "\"\""}}},
      {"GetLoops", true, {{"block", Keep::kBlock}}},
      {"GetChildBlocks", true, {{"block_or_loop", Keep::kBlock, "", true}}},
      {"GetProducers", true, {{"block", Keep::kBlock}}},
      {"GetConsumers", true, {{"block", Keep::kBlock}}},
      {"GetOutputBlocks", true, {{"scope_block", Keep::kBlock, "", false, "block"}}},
      {"SamplePerfectTile",
       true,
       {{"loop", Keep::kLoop},
        {"n", Keep::kAttr},
        {"max_innermost_factor", Keep::kAttr, "16"},
        {"decision", Keep::kDecision, "None"}}},
      {"SamplePartitionedTile",
       true,
       {{"loop", Keep::kLoop},
        {"n", Keep::kAttr},
        {"partition_pos", Keep::kAttr, "0"},
        {"innerpart_factor", Keep::kAttr, "1"},
        {"decision", Keep::kDecision, "None"}}},
      {"SampleComputeLocation", false, {{"block", Keep::kBlock}, {"decision", Keep::kDecision, "None"}}},
      {"SampleCategorical",
       false,
       {{"candidates", Keep::kAttr}, {"probs", Keep::kAttr}, {"decision", Keep::kDecision, "None"}}},
      {"Fuse", false, {{"loops", Keep::kStar}, {"preserve_unit_iters", Keep::kFlag, "True"}}},
      {"Split",
       true,
       {{"loop", Keep::kLoop},
        {"factors", Keep::kInputs},
        {"preserve_unit_iters", Keep::kFlag, "True"},
        {"disable_predication", Keep::kFlag, "False"}}},
      {"Reorder", false, {{"loops", Keep::kStar}}},
      {"Parallel", false, {{"loop", Keep::kLoop}}},
      {"Vectorize", false, {{"loop", Keep::kLoop}}},
      {"Unroll", false, {{"loop", Keep::kLoop}}},
      {"Bind", false, {{"loop", Keep::kLoop}, {"thread_axis", Keep::kAttr}}},
      {"Merge", false, {{"loops", Keep::kStar}}},
      {"AddUnitLoop", false, {{"block_or_loop", Keep::kBlock}}},
      {"ReorderBlockIterVar", false, {{"block", Keep::kBlock}, {"new_order", Keep::kInput}}},
      {"SetScope",
       false,
       {{"block", Keep::kBlock}, {"buffer_index", Keep::kWriteIndex}, {"storage_scope", Keep::kAttr}}},
      {"StorageAlign",
       false,
       {{"block", Keep::kBlock},
        {"buffer_index", Keep::kWriteIndex},
        {"axis", Keep::kAttr},
        {"factor", Keep::kAttr},
        {"offset", Keep::kAttr}}},
      {"CacheRead",
       false,
       {{"block", Keep::kBlock},
        {"read_buffer_index", Keep::kReadIndex},
        {"storage_scope", Keep::kAttr},
        {"consumer_blocks", Keep::kInputs, "[]"}}},
      {"CacheWrite",
       false,
       {{"block", Keep::kBlock},
        {"write_buffer_index", Keep::kWriteIndex},
        {"storage_scope", Keep::kAttr},
        {"consumer_blocks", Keep::kInputs, "[]"}}},
      {"CacheInplace",
       true,
       {{"block", Keep::kBlock}, {"read_buffer_index", Keep::kReadIndex}, {"storage_scope", Keep::kAttr}}},
      {"CacheIndex", true, {{"block", Keep::kBlock}, {"storage_scope", Keep::kAttr}, {"cse_thresh", Keep::kAttr, "0"}}},
      {"FuseReductionEpilogue", false, {{"reduction_block", Keep::kBlock}, {"epilogue_block", Keep::kBlock}}},
      {"RollingBuffer", false, {{"block", Keep::kBlock}, {"write_buffer_index", Keep::kWriteIndex}}},
      {"ReadAt",
       false,
       {{"loop", Keep::kLoop},
        {"block", Keep::kBlock},
        {"read_buffer_index", Keep::kReadIndex},
        {"storage_scope", Keep::kAttr}}},
      {"WriteAt",
       false,
       {{"loop", Keep::kLoop},
        {"block", Keep::kBlock},
        {"write_buffer_index", Keep::kWriteIndex},
        {"storage_scope", Keep::kAttr}}},
      {"UnsafeHideBufferAccess",
       false,
       {{"block", Keep::kBlock}, {"buf_type", Keep::kInput}, {"buf_index_array", Keep::kInput}}},
      {"AnnotateBufferAccess",
       false,
       {{"block", Keep::kBlock},
        {"buffer_index", Keep::kInput},
        {"buf_type", Keep::kSide},
        {"gen_new_ranges", Keep::kRanges}}},
      {"LoopPartition",
       true,
       {{"loop", Keep::kLoop}, {"factors", Keep::kInputs}, {"preserve_unit_iters", Keep::kFlag, "True"}}},
      {"ComputeAt",
       false,
       {{"block", Keep::kBlock},
        {"loop", Keep::kLoop},
        {"preserve_unit_loops", Keep::kFlag, "False"},
        {"index", Keep::kAttr, "-1"}}},
      {"ReverseComputeAt",
       false,
       {{"block", Keep::kBlock},
        {"loop", Keep::kLoop},
        {"preserve_unit_loops", Keep::kFlag, "False"},
        {"index", Keep::kAttr, "-1"}}},
      {"ComputeInline", false, {{"block", Keep::kBlock}}},
      {"ReverseComputeInline", false, {{"block", Keep::kBlock}}},
      {"DecomposeReduction", false, {{"block", Keep::kBlock}, {"loop", Keep::kLoop}}},
      {"RFactor", false, {{"loop", Keep::kLoop}, {"factor_axis", Keep::kAttr}}},
      {"Blockize", false, {{"target", Keep::kBlock}, {"preserve_unit_iters", Keep::kFlag, "True"}}},
      {"Tensorize",
       false,
       {{"block_or_loop", Keep::kBlock}, {"tensor_intrin", Keep::kAttr}, {"preserve_unit_iters", Keep::kFlag, "True"}}},
      {"ReindexCacheRead",
       false,
       {{"block", Keep::kBlock},
        {"read_buffer_index", Keep::kReadIndex},
        {"storage_scope", Keep::kAttr},
        {"index_map", Keep::kIndexMap}}},
      {"ReindexCacheWrite",
       false,
       {{"block", Keep::kBlock},
        {"write_buffer_index", Keep::kWriteIndex},
        {"storage_scope", Keep::kAttr},
        {"index_map", Keep::kIndexMap}}},
      {"TransformLayout",
       false,
       {{"block", Keep::kBlock},
        {"buffer", Keep::kBuffer},
        {"index_map", Keep::kIndexMap},
        {"pad_value", Keep::kMapAttr, "None"},
        {"assume_injective_transform", Keep::kFlag, "False"}}},
      {"TransformBlockLayout", false, {{"block", Keep::kBlock}, {"index_map", Keep::kMapAttr}}},
      {"SetAxisSeparator",
       false,
       {{"block", Keep::kBlock}, {"buffer", Keep::kBuffer}, {"axis_separators", Keep::kAttr, "None"}}},
      {"DecomposePadding", false, {{"block", Keep::kBlock}, {"loop", Keep::kLoop}}},
      {"ReIndex", false, {{"block", Keep::kBlock}, {"buffer", Keep::kBuffer}}},
      {"UnsafeSetDType", false, {{"block", Keep::kBlock}, {"buffer_index", Keep::kWriteIndex}, {"dtype", Keep::kAttr}}},
      {"PadEinsum", false, {{"block", Keep::kBlock}, {"padding", Keep::kAttr}}},
      {"Annotate", false, {{"block_or_loop", Keep::kBlock}, {"ann_key", Keep::kAttr}, {"ann_val", Keep::kItems}}},
      {"Unannotate", false, {{"block_or_loop", Keep::kBlock}, {"ann_key", Keep::kAttr}}},
      {"EnterPostproc", false, {}},
  };
  return signatures;
}

Attr DefaultOf(const Argument& argument) {
  const std::string text(argument.fallback);
  if (text == "True") return int64_t{1};
  if (text == "False") return int64_t{0};
  if (text == "None") return std::monostate();
  if (text.starts_with('"')) return text.substr(1, text.size() - 2);
  return int64_t{std::stoll(text)};
}

int MapAttrOf(std::string_view kind) {
  const Signature* signature = FindSignature(kind);
  int place = 0;
  for (const Argument& argument : signature->arguments) {
    if (argument.keep == Keep::kMapAttr) return place;
    if (argument.keep >= Keep::kAttr && argument.keep <= Keep::kBuffer) place += argument.keep == Keep::kBuffer ? 2 : 1;
  }
  return -1;
}

const Signature* FindSignature(std::string_view kind) {
  for (const Signature& signature : Signatures()) {
    if (signature.kind == kind) return &signature;
  }
  return nullptr;
}

const Signature* FindPythonSignature(std::string_view name) {
  for (const Signature& signature : Signatures()) {
    if (SnakeCase(signature.kind) == name) return &signature;
  }
  return nullptr;
}

std::string SnakeCase(std::string_view name) {
  if (name == "ReIndex") return "reindex";  // Its capitals are no words.
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  std::string snake;
  for (size_t i = 0; i < name.size(); ++i) {
    if (i > 0 && is_upper(name[i]) && !is_upper(name[i - 1])) snake += '_';
    snake += is_upper(name[i]) ? static_cast<char>(name[i] - 'A' + 'a') : name[i];
  }
  return snake;
}

}  // namespace lathe
