"""Backbones: pretrained encoders by name, folder or hub id, each brought to a local folder."""

from hybridal.backbones.backbone import Backbone
from hybridal.backbones.load import BACKBONE_NAMES, load_backbone, local_backbone, remote_limits

__all__ = ["BACKBONE_NAMES", "Backbone", "load_backbone", "local_backbone", "remote_limits"]
