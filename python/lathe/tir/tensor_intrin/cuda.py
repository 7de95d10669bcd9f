"""Instructions of NVIDIA GPUs: names of the tensor intrinsics, and which belong together."""
from lathe.tir.function import TensorIntrin
from lathe.tir.tensor_intrin.dot_product_common import *  # noqa: F401,F403

M_DIM = N_DIM = 16
WARP_SIZE = 32
HALF_WARP = WARP_SIZE // 2

for _out in ("f16f16f16", "f16f16f32", "s8s8s32"):
    for _trans in ("", "_TRANS"):
        globals()[f"WMMA_SYNC_16x16x16_{_out}{_trans}_INTRIN"] = f"wmma_sync_16x16x16_{_out}{_trans.lower()}"
WMMA_SYNC_8x8x32_s4s4s32_TRANS_INTRIN = "wmma_sync_8x8x32_s4s4s32_trans"
for _shape, _types in (("16x16x16", ("F16", "F32", "S32")), ("8x8x32", ("S32",))):
    for _type in _types:
        globals()[f"WMMA_FILL_{_shape}_{_type}_INTRIN"] = f"wmma_fill_{_shape}_{_type.lower()}"
        for _scope in ("GLOBAL", "SHARED", "SHARED_DYN"):
            _name = f"{_shape}_{_type}_{_scope}"
            globals()[f"WMMA_STORE_{_name}_INTRIN"] = "wmma_store_" + _name.lower()
for _shape, _type, _matrices in (("16x16x16", "F16", ("A", "A_TRANS", "B", "B_TRANS")),
                                 ("16x16x16", "S8", ("A", "A_TRANS", "B", "B_TRANS")),
                                 ("8x8x32", "S4", ("A", "B_TRANS"))):
    for _matrix in _matrices:
        for _dyn in ("", "_DYN"):
            _name = f"{_shape}_{_type}_{_matrix}"
            globals()[f"WMMA_LOAD_{_name}{_dyn}_INTRIN"] = f"wmma_load_{_name.lower()}_shared{_dyn.lower()}"

for _type, _matrices in (("f16", ("A", "A_TRANS", "B", "B_TRANS", "A_DYN", "A_TRANS_DYN", "B_DYN", "B_TRANS_DYN")),
                         *((_type, ("A", "B", "B_TRANS")) for _type in ("i8", "e4m3", "e5m2"))):
    for _matrix in _matrices:
        globals()[f"LDMATRIX_{_type}_{_matrix}_INTRIN"] = f"mma_ldmatrix_{_type}_{_matrix.lower()}"
for _type, _trans in (("f16f16f16", ("", "_TRANS_A", "_TRANS_B", "_TRANS_A_TRANS_B")),
                      ("f16f16f32", ("", "_TRANS_A", "_TRANS_B", "_TRANS_A_TRANS_B")),
                      *((_type, ("", "_TRANS_B")) for _type in ("i8i8i32", "e4m3e4m3f32", "e5m2e5m2f32"))):
    for _suffix in _trans:
        globals()[f"MMA_{_type}{_suffix}_INTRIN"] = f"mma_{_type}{_suffix.lower()}"
for _type in ("f16", "f32", "i32"):
    globals()[f"MMA_fill_16x16_{_type}_INTRIN"] = f"mma_fill_16x16_{_type}"
    for _scope in ("global", "shared_dyn"):
        globals()[f"MMA_store_16x16_{_type}_{_scope}_INTRIN"] = f"mma_store_16x16_{_type}_{_scope}_"
        globals()[f"MMA_store_16x16_{_type}_{_scope}_INTRIN_SIMPLE"] = f"mma_store_16x16_{_type}_{_scope}_simple_"

_IN_WMMA = {"float16": "f16", "float32": "f32", "int32": "s32", "int8": "s8", "int4": "s4"}
_IN_MMA = {**_IN_WMMA, "int32": "i32", "int8": "i8", "float8_e4m3fn": "e4m3", "e4m3_float8": "e4m3",
           "float8_e5m2": "e5m2", "e5m2_float8": "e5m2"}


def _parts(name):
    intrin = TensorIntrin.get(name)
    return intrin.desc, intrin.impl


def _suffix(holds, text):
    return text if holds else ""


def _in_name(scope):
    return scope.replace(".", "_")


def shared_16x16_to_ldmatrix_32x8_layout(i, j):
    """Lane and register of element (i, j) of a tile of 16 x 16 elements of 16 bits."""
    return 4 * (i % 8) + (j % 8) // 2, 4 * (j // 8) + (i // 8) * 2 + j % 2


def shared_16x32_to_ldmatrix_32x16_layout(i, j):
    """Of 16 x 32 bytes that lie along the rows."""
    return 4 * (i % 8) + (j % 16) // 4, 8 * (j // 16) + (i // 8) * 4 + j % 4


def shared_32x16_to_ldmatrix_32x16_layout(i, j):
    """Of 32 x 16 bytes that lie along the columns."""
    return (i % 16) // 4 + 4 * (j % 8), 8 * (j // 8) + (i // 16) * 4 + i % 4


def ldmatrix_32x8_to_shared_16x16_layout(thread_id, local_id):
    """The way back: row and column of a register of a lane."""
    return 8 * (local_id % 4 // 2) + thread_id // 4, 8 * (local_id // 4) + (thread_id % 4) * 2 + local_id % 2


def get_ldmatrix_intrin(k_dim, dtype, matrix_name, transposed, shared_scope="shared"):
    """Description and implementation of a load of a matrix, "A" or "B"."""
    del k_dim  # Follows from the type.
    return _parts(f"mma_ldmatrix_{_IN_MMA[dtype]}_{matrix_name.lower()}{_suffix(transposed, '_trans')}"
                  f"{_suffix(shared_scope == 'shared.dyn', '_dyn')}")


def get_mma_intrin(k_dim, a_dtype="float16", b_dtype="float16", out_dtype="float16", a_transposed=False,
                   b_transposed=False):
    """Description and implementation of a product of tiles held by a warp."""
    del k_dim
    return _parts(f"mma_{_IN_MMA[a_dtype]}{_IN_MMA[b_dtype]}{_IN_MMA[out_dtype]}{_suffix(a_transposed, '_trans_a')}"
                  f"{_suffix(b_transposed, '_trans_b')}")


def get_mma_fill_intrin(dtype, local_size):
    """Description and implementation of zeros in a tile held by a warp."""
    del local_size
    return _parts(f"mma_fill_16x16_{_IN_MMA[dtype]}")


def get_mma_store_intrin(dtype, local_size, scope="global", use_mma_store_intrinic=True):
    """Description and implementation of a store of a tile held by a warp."""
    del local_size
    return _parts(f"mma_store_16x16_{_IN_MMA[dtype]}_{_in_name(scope)}_{_suffix(not use_mma_store_intrinic, 'simple_')}")


def get_wmma_load_intrin(m_dim, n_dim, k_dim, dtype, shared_scope, is_b, is_col_major):
    """Description and implementation of a load of a fragment."""
    return _parts(f"wmma_load_{m_dim}x{n_dim}x{k_dim}_{_IN_WMMA[dtype]}_{'b' if is_b else 'a'}"
                  f"{_suffix(is_col_major, '_trans')}_{_in_name(shared_scope)}")


def get_wmma_fill_intrin(m_dim, n_dim, k_dim, dtype):
    """Description and implementation of zeros in a fragment."""
    return _parts(f"wmma_fill_{m_dim}x{n_dim}x{k_dim}_{_IN_WMMA[dtype]}")


def get_wmma_store_intrin(m_dim, n_dim, k_dim, dtype, scope):
    """Description and implementation of a store of a fragment."""
    return _parts(f"wmma_store_{m_dim}x{n_dim}x{k_dim}_{_IN_WMMA[dtype]}_{_in_name(scope)}")


def get_wmma_sync_intrin(m_dim, n_dim, k_dim, in_dtype, out_dtype, b_transposed):
    """Description and implementation of a product of fragments."""
    return _parts(f"wmma_sync_{m_dim}x{n_dim}x{k_dim}_{_IN_WMMA[in_dtype] * 2}{_IN_WMMA[out_dtype]}"
                  f"{_suffix(b_transposed, '_trans')}")


def get_wmma_intrin_group(load_scope, store_scope, in_dtype, out_dtype, trans_b):
    """Names of the wmma intrinsics of one matrix product, by what they do."""
    shape, type_in, type_out = "16x16x16", _IN_WMMA[in_dtype], _IN_WMMA[out_dtype]
    trans = _suffix(trans_b, "_trans")
    return {
        "init": f"wmma_fill_{shape}_{type_out}",
        "load_a": f"wmma_load_{shape}_{type_in}_a_{_in_name(load_scope)}",
        "load_b": f"wmma_load_{shape}_{type_in}_b{trans}_{_in_name(load_scope)}",
        "compute": f"wmma_sync_{shape}_{type_in}{type_in}{type_out}{trans}",
        "store": f"wmma_store_{shape}_{type_out}_{_in_name(store_scope)}",
    }


def get_mma_intrin_group(load_scope, store_scope, in_dtype, out_dtype, trans_a, trans_b,
                         not_use_mma_store_intrinic=True, store_to_smem_dtype=None):
    """Names of the mma intrinsics of one matrix product, by what they do."""
    assert load_scope in ("shared", "shared.dyn") and store_scope in ("global", "shared", "shared.dyn")
    assert in_dtype in ("float16", "int8", "float8_e4m3fn", "e4m3_float8", "float8_e5m2", "e5m2_float8")
    assert out_dtype in ("float16", "float32", "int32")
    assert store_to_smem_dtype in (None, "float16", "float32", "int32")
    type_in, type_out = _IN_MMA[in_dtype], _IN_MMA[out_dtype]
    stored = _IN_MMA[store_to_smem_dtype] if store_to_smem_dtype else type_out
    a, b = _suffix(trans_a, "_trans"), _suffix(trans_b, "_trans")
    dyn = _suffix(load_scope == "shared.dyn", "_dyn")
    return {
        "init": f"mma_fill_16x16_{type_out}",
        "load_a": f"mma_ldmatrix_{type_in}_a{a}{dyn}",
        "load_b": f"mma_ldmatrix_{type_in}_b{b}{dyn}",
        "compute": f"mma_{type_in}{type_in}{type_out}{_suffix(trans_a, '_trans_a')}{_suffix(trans_b, '_trans_b')}",
        "store": f"mma_store_16x16_{stored}_{_in_name(store_scope)}_{_suffix(not_use_mma_store_intrinic, 'simple_')}",
    }
