"""The modules that server processes and templates need; importing this one loads them before a fork."""

from __future__ import annotations

import gc
import signal
from importlib import import_module

from pydantic import BaseModel

gc.disable()  # loaded modules stay alive; each fork collects only its own garbage
BaseModel.model_config["defer_build"] = True  # FastAPI's models are of descriptions, which few servers give
import_module("fastapi.openapi.models")
del BaseModel.model_config["defer_build"]
for _name in ("memplan.api.http.app", "memplan.api.workers.child"):
    import_module(_name)
import_module("memplan.api.readiness").load_all()
gc.freeze()  # memory that no collection touches stays shared
# A signal to all processes of a service lets those that are forked from it answer first; it ends after them.
signal.signal(signal.SIGTERM, signal.SIG_IGN)
