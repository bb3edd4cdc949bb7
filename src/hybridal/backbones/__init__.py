"""Backbones: pretrained encoders by name, folder or hub id, each brought to a local folder."""

from hybridal.backbones.auto_candidates import candidate_names, with_candidates
from hybridal.backbones.backbone import Backbone
from hybridal.backbones.load import BACKBONE_NAMES, check_exists, load_backbone, local_backbone, remote_limits

__all__ = [
    "BACKBONE_NAMES",
    "Backbone",
    "candidate_names",
    "check_exists",
    "load_backbone",
    "local_backbone",
    "remote_limits",
    "with_candidates",
]
