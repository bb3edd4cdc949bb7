"""CUDA graphs and kernels. Only `hybridal.models.acceleration` imports this package."""
