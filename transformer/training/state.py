"""A training that was broken off, kept beside its checkpoint until that is there. No pickle is ever read.

OUT/training-state.safetensors
    weights/NAME        the model's parameters
    adam/NAME/KEY       what Adam remembers of each
    generator/RANK      each process's random generator, which dropout draws from
    (its header)        the step after which it was kept, and of what run
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save as serialize
from torch import Tensor

from ..network.model import Transformer
from ..storage.checkpoint import CheckpointError, reading
from .distributed import Processes

STATE = "training-state.safetensors"


@dataclass(frozen=True, eq=False)
class TrainingState:
    """All that decides how a training goes on, and the file that keeps it.

    Args:
        run: what two runs must have in common for one to go on where the other stopped: JSON values by name.
    """

    file: Path
    model: Transformer
    optimizer: torch.optim.Adam
    processes: Processes
    run: dict[str, Any]

    def save(self, step: int) -> None:
        """Keep the state after a step. Every process calls this, the first writes; the file is always a whole one."""
        device = self.model.positions.device
        # Tensors travel on the device that their engine is for: NCCL carries none of the CPU's.
        generators = self.processes.gathered(_generator(device).get_rng_state().to(device))
        if self.processes.rank:
            return
        tensors = {f"generator/{rank}": state for rank, state in enumerate(generators)}
        for name, parameter in self.model.named_parameters():
            tensors[f"weights/{name}"] = parameter.detach()
            tensors |= {f"adam/{name}/{key}": value for key, value in self.optimizer.state[parameter].items()}
        # One entry, because safetensors writes several in any order; and written here, because `save_file` would write
        # under a name of its own, which stays if it is killed.
        content = serialize(tensors, metadata={"state": json.dumps({"step": step, "run": self.run})})
        with self._part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(self._part, self.file)

    def load(self) -> int:
        """Take up the state that was kept, if there is one, in every process.

        Returns:
            The step after which it was kept; 0 where nothing was, and then nothing is changed.

        Raises:
            CheckpointError: the file is not whole, or is of another run; or not all processes see the same one.
        """
        step = self._load() if self.file.exists() else 0
        device = self.model.positions.device
        if len({int(other) for other in self.processes.gathered(torch.tensor(step, device=device))}) > 1:
            raise CheckpointError(f"{self.file}: not all processes see the same file")
        return step

    def _load(self) -> int:
        with reading(self.file), safe_open(self.file, framework="pt") as stored:
            header = json.loads(stored.metadata()["state"])
            step, run = int(header["step"]), dict(header["run"])
            for name in sorted(self.run.keys() | run.keys()):
                if self.run.get(name) != run.get(name):
                    raise CheckpointError(
                        f"{self.file}: is of another run, whose {name} is {run.get(name)}, not {self.run.get(name)}"
                    )
            with torch.no_grad():
                for name, parameter in self.model.named_parameters():
                    parameter.copy_(stored.get_tensor(f"weights/{name}"))
            # Adam counts parameters where we name them.
            memory = {
                number: {key: stored.get_tensor(f"adam/{name}/{key}") for key in ("step", "exp_avg", "exp_avg_sq")}
                for number, (name, _) in enumerate(self.model.named_parameters())
            }
            generator: Tensor = stored.get_tensor(f"generator/{self.processes.rank}")
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": memory})
        _generator(self.model.positions.device).set_rng_state(generator)
        return step

    def remove(self) -> None:
        """The run is finished, and its checkpoint saved."""
        for file in (self.file, self._part):
            file.unlink(missing_ok=True)

    @property
    def _part(self) -> Path:
        return self.file.with_name(self.file.name + ".part")


def _generator(device: torch.device) -> Any:
    """The module that knows a device's random generator."""
    return torch if device.type == "cpu" else torch.get_device_module(device)
