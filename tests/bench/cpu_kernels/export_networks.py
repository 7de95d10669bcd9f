"""Writes networks with seeded weights for the comparison: FOLDER/NAME.onnx, and NAME.pt (TorchScript) for PyTorch's side.

    sudo apt-get install python3-torchvision
    /usr/bin/python3 tests/bench/cpu_kernels/export_networks.py FOLDER
"""

from pathlib import Path
import sys
import warnings

import torch
from torchvision import models

NETWORKS = {
    "resnet18": models.resnet18,
    "resnet50": models.resnet50,
    "mobilenet_v2": models.mobilenet_v2,
    "mobilenet_v3_small": models.mobilenet_v3_small,
    "efficientnet_b0": models.efficientnet_b0,
}


def spread(network):
    """Random weights let values die out or grow; normalization by what the layer sees keeps them in range."""
    network.train()
    with torch.no_grad():
        for _ in range(3):
            network(torch.randn(4, 3, 224, 224))
    return network.eval()


def main(folder):
    warnings.filterwarnings("ignore")
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in NETWORKS.items():
        torch.manual_seed(20)
        network = spread(make(weights=None))
        image = torch.randn(1, 3, 224, 224)
        torch.onnx.export(network, image, str(folder / f"{name}.onnx"), opset_version=13, input_names=["x"], output_names=["out"])
        torch.jit.trace(network, image).save(str(folder / f"{name}.pt"))
        print(folder / f"{name}.onnx", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: export_networks.py FOLDER")
    main(Path(sys.argv[1]))
