"""Tags of targets: what they say of real devices."""
import pytest
import tvm
from tvm.target import Target


@pytest.mark.parametrize("tag, arch, registers", [
    ("nvidia/geforce-gtx-480", "sm_20", 32768), ("nvidia/tesla-k80", "sm_37", 65536), ("nvidia/jetson-nano", "sm_53", 32768),
    ("nvidia/geforce-gtx-1080-ti", "sm_61", 65536), ("nvidia/geforce-rtx-2060", "sm_75", 65536),
    ("nvidia/nvidia-a10", "sm_86", 65536), ("nvidia/geforce-gt-730-ddr3,128bit", "sm_21", 32768)])
def test_a_gpu_has_the_facts_of_its_architecture(tag, arch, registers):
    target = Target(tag)
    assert (target.kind.name, target.tag, target.arch) == ("cuda", tag, arch)
    assert target.attrs["registers_per_block"] == registers and target.attrs["max_threads_per_block"] == 1024
    assert target.max_shared_memory_per_block == 49152 and target.thread_warp_size == 32


def test_caches_are_said_where_they_are_known():
    assert Target("nvidia/nvidia-a100").attrs["l2_cache_size_bytes"] == 40 << 20
    assert Target("nvidia/geforce-rtx-4090").attrs["l2_cache_size_bytes"] == 72 << 20
    assert "l2_cache_size_bytes" not in Target("nvidia/nvidia-v100").attrs


def test_boards_have_a_host():
    xavier = Target("nvidia/jetson-agx-xavier")
    assert xavier.arch == "sm_72" and xavier.host.mcpu == "carmel" and xavier.host.num_cores == 8
    assert Target("apple/m1-gpu").host.mcpu == "apple-m1" and Target("nvidia/jetson-nano").host is None
    assert Target("nvidia/jetson-agx-xavier", host="llvm").host.mcpu == ""


def test_what_is_given_besides_replaces_what_the_tag_says():
    target = Target("nvidia/nvidia-a100 -max_threads_per_block=512")
    assert target.attrs["max_threads_per_block"] == 512 and target.arch == "sm_80"


def test_machines_of_a_cloud_have_their_cores():
    assert Target("aws/cpu/c5.9xlarge").num_cores == 18 and Target("aws/cpu/c5.24xlarge").mcpu == "cascadelake"


def test_all_tags_are_listed():
    tags = tvm.target.list_tags()
    assert len(tags) > 250 and tags["nvidia/nvidia-t4"].arch == "sm_75"
    assert tvm.target.riscv_cpu("sifive-u74").mcpu == "sifive-u74" and tags["riscv/sifive-u54"].keys == ["riscv_cpu", "cpu"]
    with pytest.raises(ValueError, match="unknown kind or tag"):
        Target("nvidia/geforce-gtx-1")
