"""A Ray cluster of two machines with a core each, both this one."""

from __future__ import annotations

from typing import Any

NODE: dict[str, Any] = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False}
# How soon a node that is gone is missed: five failed looks instead of a quarter of a minute.
HEAD = {**NODE, "_system_config": {"health_check_initial_delay_ms": 0, "health_check_period_ms": 300}}


class TwoNodes:
    """The driver lives on the first node; the second can be lost."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self.cluster = Cluster(initialize_head=True, head_node_args=HEAD, shutdown_at_exit=False)
        self._second: Any = self.cluster.add_node(**NODE)
        self.address = str(self.cluster.address)

    def second(self) -> Any:
        """The one that is not the driver's; where it was lost, there is another now."""
        if self._second not in self.cluster.worker_nodes:
            self._second = self.cluster.add_node(**NODE)
        return self._second

    def lose_second(self) -> None:
        self.cluster.remove_node(self._second, allow_graceful=False)
