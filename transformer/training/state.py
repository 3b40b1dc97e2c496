"""The state of an interrupted training, saved beside its checkpoint until that is complete. Never a pickle.

OUT/training-state.safetensors
    weights/NAME        the model's parameters
    adam/NAME/KEY       Adam's state of each
    generator/RANK      each process's random generator, which dropout draws from
    (its header)        the step after which it was saved, and the settings of the run
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save as serialize
from torch import Tensor

from ..network.model import Transformer
from ..storage.checkpoint import CheckpointError, part_of, reading, write
from .distributed import Processes

STATE = "training-state.safetensors"


@dataclass(frozen=True, eq=False)
class TrainingState:
    """Everything that a training resumes from, and its file."""

    file: Path
    model: Transformer
    optimizer: torch.optim.Adam
    processes: Processes
    run: dict[str, Any]  # the settings that must be equal to resume: JSON values by name

    def save(self, step: int) -> None:
        """Save the state after a step. Every process calls this and the first one writes; the file is never partial."""
        device = self.model.positions.device
        # NCCL moves only tensors of its own device.
        generators = self.processes.gathered(_generator(device).get_rng_state().to(device))
        if self.processes.rank:
            return
        tensors = {f"generator/{rank}": state for rank, state in enumerate(generators)}
        for name, parameter in self.model.named_parameters():
            tensors[f"weights/{name}"] = parameter.detach()
            tensors |= {f"adam/{name}/{key}": value for key, value in self.optimizer.state[parameter].items()}
        # One metadata entry, because safetensors writes several in any order. Not `save_file`, which leaves a temporary
        # file behind if it is killed.
        write(self.file, serialize(tensors, metadata={"state": json.dumps({"step": step, "run": self.run})}))

    def load(self) -> int:
        """Restore the saved state, if any, in every process.

        Returns:
            The step after which it was saved; 0 if there is none, and then nothing changes.

        Raises:
            CheckpointError: the file is damaged or of another run, or the processes see different files.
        """
        step = self._load() if self.file.exists() else 0
        device = self.model.positions.device
        if len({int(other) for other in self.processes.gathered(torch.tensor(step, device=device))}) > 1:
            raise CheckpointError(f"{self.file}: the processes see different files")
        return step

    def _load(self) -> int:
        with reading(self.file), safe_open(self.file, framework="pt") as stored:
            header = json.loads(stored.metadata()["state"])
            step, run = int(header["step"]), dict(header["run"])
            for name in sorted(self.run.keys() | run.keys()):
                if self.run.get(name) != run.get(name):
                    raise CheckpointError(
                        f"{self.file}: belongs to another run: its {name} is {run.get(name)}, not {self.run.get(name)}"
                    )
            with torch.no_grad():
                for name, parameter in self.model.named_parameters():
                    parameter.copy_(stored.get_tensor(f"weights/{name}"))
            names = {parameter: name for name, parameter in self.model.named_parameters()}
            # Adam numbers its parameters, group by group; the file names them.
            numbered = enumerate(each for group in self.optimizer.param_groups for each in group["params"])
            memory = {
                n: {key: stored.get_tensor(f"adam/{names[each]}/{key}") for key in ("step", "exp_avg", "exp_avg_sq")}
                for n, each in numbered
            }
            generator: Tensor = stored.get_tensor(f"generator/{self.processes.rank}")
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": memory})
        _generator(self.model.positions.device).set_rng_state(generator)
        return step

    def remove(self) -> None:
        """Delete the file once the checkpoint is saved."""
        for file in (self.file, part_of(self.file)):
            file.unlink(missing_ok=True)


def _generator(device: torch.device) -> Any:
    """The torch module that owns a device's random generator."""
    return torch if device.type == "cpu" else torch.get_device_module(device)
