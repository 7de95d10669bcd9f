// Products of matrices in the tile registers of AMX. Sums are in the first four, the factors in two each of the others.
// All tiles of a function have the shapes of its products: they are configured once, where it begins, so each thread
// configures its own.
#include <fmt/format.h>

#include "compiler/arith/linear.h"
#include "compiler/codegen/llvm/kernel_emitter.h"
#include "compiler/ir/visitor.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace lathe {
namespace {

using llvm::Value;

constexpr int kSums = 4, kFirstA = 4, kFirstB = 6, kTiles = 8;

struct InstructionRow {
  std::string_view name, feature;
  llvm::Intrinsic::ID id;
  std::optional<std::array<DataType, 3>> types;  // Of a product: its factors and sums.

  bool Takes(const TileStatement& tile) const {
    const auto is = [](const TileAccess& access, DataType type) { return access.buffer->dtype == type; };
    if (tile.is_product() != types.has_value()) return false;
    return !types || (is(*tile.a, (*types)[0]) && is(*tile.b, (*types)[1]) && is(*tile.sums, (*types)[2]));
  }
};
constexpr DataType kU8 = DataType::UInt(8), kS8 = DataType::Int(8), kS32 = DataType::Int(32);
constexpr InstructionRow kInstructions[] = {
    {"tilezero", "amx-tile", llvm::Intrinsic::x86_tilezero, std::nullopt},
    {"tilestored", "amx-tile", llvm::Intrinsic::x86_tilestored64, std::nullopt},
    {"tdpbusd", "amx-int8", llvm::Intrinsic::x86_tdpbusd, {{kU8, kS8, kS32}}},
    {"tdpbssd", "amx-int8", llvm::Intrinsic::x86_tdpbssd, {{kS8, kS8, kS32}}},
    {"tdpbsud", "amx-int8", llvm::Intrinsic::x86_tdpbsud, {{kS8, kU8, kS32}}},
    {"tdpbuud", "amx-int8", llvm::Intrinsic::x86_tdpbuud, {{kU8, kU8, kS32}}},
    {"tdpbf16ps",
     "amx-bf16",
     llvm::Intrinsic::x86_tdpbf16ps,
     {{DataType::BFloat(), DataType::BFloat(), DataType::Float(32)}}},
};
const InstructionRow* FindInstruction(std::string_view name) {
  const auto found = std::find_if(std::begin(kInstructions), std::end(kInstructions),
                                  [&](const InstructionRow& row) { return row.name == name; });
  return found == std::end(kInstructions) ? nullptr : found;
}

// The statements of AMX that one function of LLVM gets: not those of parallel loops inside, which are functions.
class TileFinder : public StmtExprVisitor {
 public:
  explicit TileFinder(bool in_parallel) : in_parallel_(in_parallel) {}
  std::vector<const AttrStmt*> found;

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    if (loop.kind != ForKind::kParallel || in_parallel_) StmtExprVisitor::VisitFor(self, loop);
  }
  void VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    if (attr != nullptr && attr->attr_key == kAmxAttr) found.push_back(attr);
    StmtExprVisitor::VisitStmt(stmt);
  }

 private:
  const bool in_parallel_;
};

int64_t BytesOf(const TileAccess& access) { return access.buffer->dtype.bits / 8; }

}  // namespace

// Registers have 16 rows of 64 bytes, and multiply 32 bits of a row at once.
static bool IsShapeOfTiles(const TileStatement& product) {
  const int64_t most = 16;
  return product.rows <= most && product.columns <= most && product.steps <= most && product.rows > 0 &&
         product.columns > 0 && product.steps > 0 && product.parts * BytesOf(*product.a) == BytesOf(*product.sums);
}

// The statements of AMX in `body`; there was an error: none.
std::vector<TileStatement> KernelEmitter::TileStatementsOf(const Stmt& body) {
  TileFinder finder(in_parallel_);
  finder(body);
  std::vector<TileStatement> tiles;
  for (const AttrStmt* attr : finder.found) {
    StatusOr<TileStatement> tile = AsTileStatement(*attr);
    const InstructionRow* row = tile.ok() ? FindInstruction(tile->instruction) : nullptr;
    if (!tile.ok()) Fail(tile.status().message());
    if (tile.ok() && (row == nullptr || !row->Takes(*tile)))
      Fail(fmt::format("\"{}\" is no instruction of AMX on these types; use the tensor intrinsic", tile->instruction));
    if (!error_.ok()) return {};
    tiles.push_back(*std::move(tile));
  }
  return tiles;
}

// Tiles are registers where the target has all the instructions, and where the sums live inside of the function.
void KernelEmitter::BeginTiles(const Stmt& body) {
  const std::vector<TileStatement> tiles = TileStatementsOf(body);
  const auto product = std::find_if(tiles.begin(), tiles.end(), [](const auto& tile) { return tile.is_product(); });
  has_tiles_ = product != tiles.end() && std::all_of(tiles.begin(), tiles.end(), [&](const TileStatement& tile) {
                 const Buffer& sums = tile.sums->buffer;
                 return target_.Has(FindInstruction(tile.instruction)->feature) && sums->scope == kTileScope &&
                        !buffers_.contains(sums.get());
               });
  tile_sums_.assign(kSums, std::nullopt);
  loaded_tiles_ = {};
  if (!has_tiles_) return;
  if (!IsShapeOfTiles(*product)) return Fail("a tile of AMX has at most 16 rows of 64 bytes; choose a smaller one");
  const bool fit = std::all_of(tiles.begin(), tiles.end(), [&](const auto& tile) { return tile.Fits(*product); });
  if (!fit) return Fail("tiles of two shapes in one function; tile registers are configured once");
  uses_tiles_ = true;
  tile_config_ = MakeTileConfig(*product);
  ConfigureTiles();
}

void KernelEmitter::ConfigureTiles() { b_.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {tile_config_}); }

// A parallel loop's body has released the tiles of the thread that called it.
void KernelEmitter::ConfigureTilesAgain() {
  if (!has_tiles_) return;
  const bool are_free = std::none_of(tile_sums_.begin(), tile_sums_.end(), [](const auto& tile) { return tile; });
  if (!are_free) return Fail("sums are in tile registers around a parallel loop; store them before");
  ConfigureTiles();
}

// The layout of LDTILECFG's 64 bytes: palette, first row, bytes of a row of each tile from 16 on, rows from 48 on.
llvm::Value* KernelEmitter::MakeTileConfig(const TileStatement& product) {
  constexpr size_t kRowBytes = 16, kRows = 48;
  std::array<uint8_t, 64> config = {1};
  const auto set = [&](int first, int end, int64_t rows, int64_t row_bytes) {
    for (auto tile = static_cast<size_t>(first); tile < static_cast<size_t>(end); ++tile) {
      config[kRowBytes + 2 * tile] = static_cast<uint8_t>(row_bytes);
      config[kRows + tile] = static_cast<uint8_t>(rows);
    }
  };
  set(0, kSums, product.rows, product.columns * BytesOf(*product.sums));
  set(kFirstA, kFirstB, product.rows, product.steps * product.parts * BytesOf(*product.a));
  set(kFirstB, kTiles, product.steps, product.columns * product.parts * BytesOf(*product.b));
  auto* bytes = llvm::ConstantDataArray::get(context_, llvm::ArrayRef(config));
  auto* memory = new llvm::GlobalVariable(module_, bytes->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, bytes, "tile.config");
  memory->setAlignment(llvm::Align(64));
  return memory;
}

void KernelEmitter::EndTiles() {
  if (has_tiles_) b_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
}

void KernelEmitter::EmitTileStatement(const AttrStmt& attr) {
  const TileStatement tile = *AsTileStatement(attr);  // BeginTiles has seen it.
  if (tile.is_product()) return EmitTileProduct(tile);
  loaded_tiles_ = {};
  const int sums = TileOfSums(*tile.sums);
  if (tile.target) return MoveTile(llvm::Intrinsic::x86_tilestored64, sums, *tile.target);
  b_.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {}, {b_.getInt8(static_cast<uint8_t>(sums))});
}

void KernelEmitter::EmitTileProduct(const TileStatement& product) {
  const auto tile = [&](int number) { return b_.getInt8(static_cast<uint8_t>(number)); };
  const int a = LoadedTile(*product.a, kFirstA), b = LoadedTile(*product.b, kFirstB);
  const int sums = TileOfSums(*product.sums);
  b_.CreateIntrinsic(FindInstruction(product.instruction)->id, {}, {tile(sums), tile(a), tile(b)});
}

// The register of a tile of sums, from its first use to the end of its buffer.
int KernelEmitter::TileOfSums(const TileAccess& sums) {
  const int64_t* first = AsIntConst(sums.first);
  if (first == nullptr) {
    Fail(
        fmt::format("tile registers have no addresses, and \"{}\" is indexed by a loop; unroll it", sums.buffer->name));
    return 0;
  }
  const std::optional wanted = std::pair(sums.buffer.get(), *first);
  auto place = std::find(tile_sums_.begin(), tile_sums_.end(), wanted);
  if (place == tile_sums_.end()) place = std::find(tile_sums_.begin(), tile_sums_.end(), std::nullopt);
  if (place == tile_sums_.end()) {
    Fail(fmt::format("more than {} tiles of sums at a time; choose a smaller tile", kSums));
    return 0;
  }
  *place = wanted;
  return static_cast<int>(place - tile_sums_.begin());
}

void KernelEmitter::ForgetTiles(const Buffer& sums) {
  for (auto& tile : tile_sums_)
    if (tile && tile->first == sums.get()) tile.reset();
}

// The register that holds a factor: products that follow each other find what the one before has loaded.
int KernelEmitter::LoadedTile(const TileAccess& access, int first_tile) {
  const auto begin = static_cast<size_t>(first_tile - kFirstA);
  for (size_t i = begin; i < begin + 2; ++i) {
    const std::optional<TileAccess>& held = loaded_tiles_[i];
    if (held && held->buffer.same_as(access.buffer) && SameExpr(held->first, access.first))
      return kFirstA + static_cast<int>(i);
  }
  const size_t place = begin + static_cast<size_t>(next_loaded_[begin / 2]++ % 2);
  loaded_tiles_[place] = access;
  const int tile = kFirstA + static_cast<int>(place);
  MoveTile(llvm::Intrinsic::x86_tileloadd64, tile, access);
  return tile;
}

void KernelEmitter::MoveTile(llvm::Intrinsic::ID move, int tile, const TileAccess& access) {
  const Address address = EmitAddress(access.buffer, {access.first}, 1);
  Value* stride = EmitIndex(access.stride).value;
  if (!error_.ok()) return;
  stride = b_.CreateNSWMul(stride, b_.getInt64(static_cast<uint64_t>(BytesOf(access))));
  b_.CreateIntrinsic(move, {}, {b_.getInt8(static_cast<uint8_t>(tile)), address.pointer, stride});
}

}  // namespace lathe
