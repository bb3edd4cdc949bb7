"""A Ray cluster of two machines with a core each, both this one."""

from __future__ import annotations

from typing import Any


class TwoNodes:
    """The driver lives on the first node; the second can be lost."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        node = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False}
        self.cluster = Cluster(initialize_head=True, head_node_args=node, shutdown_at_exit=False)
        self.second: Any = self.cluster.add_node(**node)
        self.address = str(self.cluster.address)

    def lose_one(self) -> None:
        self.cluster.remove_node(self.second, allow_graceful=False)
