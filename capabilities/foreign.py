"""The options of capabilities that read a file of another system themselves, in a process of its own where they serve.

The file comes with its name, which helps where its bytes show no format.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from memplan.capabilities.capability import CapabilityOptions
from memplan.systems.model_options import ModelOptions


class ForeignOptions(ModelOptions, CapabilityOptions):
    """The options for reading the file."""

    name: Annotated[str, Field(max_length=1000)] | None = Field(
        None, description="The file's name, which helps where its bytes show no format."
    )
