"""Connect to a Ray cluster and divide its GPUs among workers."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hybridal.errors import UserError

# Four small models keep a GPU busier than one.
GPU_SHARE = 0.25


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield the connected package `ray`. An existing connection is used and left open."""
    try:
        import ray
    except ImportError as error:
        raise UserError("Ray is not installed; install it with `pip install 'hybridal[ray]'`.") from error
    if ray.is_initialized():
        yield ray
        return
    if address.startswith("ray://"):
        # Rounds are written by an actor on the driver's node, and a Ray client has no node.
        raise UserError(
            f"`address` {address}: start the study on a machine of the cluster (`ray start --address=HEAD:6379` makes "
            "this one) and name HEAD:6379 or 'auto' instead of a ray:// address.",
            field="address",
        )
    try:
        _join(ray, address)
    except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UserError(
            f"`address` {address}: no Ray cluster answers there ({reason}); start one with `ray start --head`, "
            "or use `address=local`.",
            field="address",
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _join(ray: Any, address: str) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address != "local":
        host, _, port = address.rpartition(":")
        if host:  # Ray itself would retry for a quarter of an hour
            socket.create_connection((host, int(port)), timeout=10).close()
        ray.init(address=address, **quiet)
        return
    # A private cluster: not reachable from the network, and without usage reports.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(address="local", _node_ip_address="127.0.0.1", include_dashboard=False, **quiet)


def on_driver_node(ray: Any) -> Any:
    """Return the scheduling strategy for an actor that shares the driver's file system."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)


def gpu_share(ray: Any, device: str, asked: float | None) -> float:
    """Return the share of a GPU for each worker: 0 if the CPU is requested or the cluster has no GPU."""
    if asked is not None and not 0 <= asked <= 1:
        raise UserError(
            f"`gpus_per_cell` must be a share of a GPU between 0 and 1, not {asked}.", field="gpus_per_cell"
        )
    if device.partition(":")[0] not in ("auto", "cpu", "cuda"):
        raise UserError(f"`device` '{device}' is not a device to train on; use cpu or cuda.", field="device")
    if device == "cpu":
        return 0.0
    present = ray.cluster_resources().get("GPU", 0)
    if asked and not present:  # Ray would wait for one without a message
        raise UserError(f"A worker should take {asked:g} GPU, but no machine of the cluster has one; add one first.")
    share = asked if asked is not None else GPU_SHARE if present else 0.0
    if not share and device != "auto":
        raise UserError(
            f"`device` {device} was asked for, but no GPU is given to the workers; use `device=cpu`.", field="device"
        )
    return share
