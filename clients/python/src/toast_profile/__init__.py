"""Times the programs of a module's segments on the devices at hand and writes the profile that planner `segments` composes.

    toast plan model.mlir.gz --mesh data=8 --device h100 --planner baselines --outputs segments -o plan/
    toast-profile plan/segments.tar -o profile.json
    toast plan model.mlir.gz --mesh data=8 --device h100 --planner segments --profile profile.json -o plan/

`profile(..)` is the same from Python, also as `toast.profile`.
"""
from .archive import Archive, BadArchive
from .session import Options, ProfileError, profile

__all__ = ["Archive", "BadArchive", "Options", "ProfileError", "profile"]
