"""A Ray cluster of two machines with a core each, both this one."""

from __future__ import annotations

from typing import Any

NODE: dict[str, Any] = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False}


class TwoNodes:
    """The driver lives on the first node; the second can be lost."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self.cluster = Cluster(initialize_head=True, head_node_args=NODE, shutdown_at_exit=False)
        self.second: Any = self.cluster.add_node(**NODE)
        self.address = str(self.cluster.address)

    def another(self) -> Any:
        """One more node."""
        return self.cluster.add_node(**NODE)

    def lose(self, node: Any) -> None:
        self.cluster.remove_node(node, allow_graceful=False)

    def lose_one(self) -> None:
        self.lose(self.second)
