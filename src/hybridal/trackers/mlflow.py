"""Log runs to MLflow."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any, ClassVar

from hybridal.core.rounds import Round
from hybridal.errors import UserError
from hybridal.trackers import figures, parameters

_OURS = "hybridal.id"

# Fail fast if the server does not answer, and do not print its address among the results.
_DEFAULTS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


class Mlflow:
    """Logs to the server in MLFLOW_TRACKING_URI, or to `mlflow.db` in the current folder."""

    name: ClassVar[str] = "mlflow"

    def __init__(self, experiment: str | None = None) -> None:
        for variable, value in _DEFAULTS.items():
            os.environ.setdefault(variable, value)
        try:
            import mlflow
        except ModuleNotFoundError as error:
            raise UserError(
                f"The tracker 'mlflow' needs {error.name}; run `pip install 'hybridal[mlflow]'`.", field="tracker"
            ) from error
        self._mlflow: Any = mlflow
        self.experiment = str(experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME", "hybridal"))

    def begin(self, id: str, name: str, about: Mapping[str, Any]) -> None:
        self._client = client = self._mlflow.MlflowClient()
        known = client.get_experiment_by_name(self.experiment)
        experiment = known.experiment_id if known else client.create_experiment(self.experiment)
        found = client.search_runs([experiment], f"tags.`{_OURS}` = '{id}'")
        run = found[0] if found else client.create_run(experiment, run_name=name, tags={_OURS: id})
        self._run: str = run.info.run_id
        # Do not log parameters and rounds again that were logged before the run was interrupted.
        asked = {key: str(value) for key, value in parameters(about).items() if key not in run.data.params}
        client.log_batch(self._run, params=[self._mlflow.entities.Param(*pair) for pair in asked.items()])
        self._taken = {metric.step for metric in client.get_metric_history(self._run, "labels")}

    def record(self, record: Round) -> None:
        if record.round in self._taken:
            return
        entities, now = self._mlflow.entities, int(time.time() * 1000)
        metrics = [entities.Metric(name, number, now, record.round) for name, number in figures(record).items()]
        tags = [entities.RunTag(name, getattr(record, name)) for name in ("update_sequence", "update", "reason")]
        self._client.log_batch(self._run, metrics=metrics, tags=tags)
        # Mark the run as finished after each round, so that a killed process leaves no open run.
        self._client.set_terminated(self._run)
