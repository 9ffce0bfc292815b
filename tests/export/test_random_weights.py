"""Random weights keep the signal's size."""

import pytest

from etprof.export.random_weights import fill_zero_layers, settle_batch_norm

pytestmark = pytest.mark.usefixtures("libraries")


def test_a_deep_network_keeps_its_signal() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Conv2d(8, 8, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU()) for _ in range(12)]
    network = nn.Sequential(*layers).eval().requires_grad_(False)
    image = torch.randn(1, 8, 16, 16)
    faded = float(network(image).std())
    assert settle_batch_norm(network, (image,)) == 12
    assert not network.training
    assert float(network(image).std()) > 0.3 > 100 * faded


def test_one_value_per_channel_leaves_the_statistics_alone() -> None:
    import torch
    from torch import nn

    norm = nn.BatchNorm2d(4).eval()
    settle_batch_norm(norm, (torch.full((1, 4, 1, 1), 9.0),))
    assert norm.running_mean is not None
    assert norm.running_mean.tolist() == [0.0] * 4


def test_a_network_without_batch_norm_is_left_alone() -> None:
    import torch

    assert settle_batch_norm(torch.nn.Identity(), (torch.ones(1),)) == 0


def test_layers_that_start_as_zeros_are_filled_and_no_others() -> None:
    import torch
    from torch import nn

    network = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)).requires_grad_(False)
    network[1].weight.zero_()
    kept = network[0].weight.clone()
    assert fill_zero_layers(network) == 1
    assert torch.equal(network[0].weight, kept)
    assert bool(network[1].weight.any())
