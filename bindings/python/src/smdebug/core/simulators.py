"""Lays out the files and variables of a job, for tests of training scripts."""

from __future__ import annotations

import json
import os
from typing import Dict, Optional

from smdebug.core.config_constants import (
    CONFIG_FILE_PATH_ENV_STR,
    DEFAULT_SAGEMAKER_OUTDIR,
    DEFAULT_SAGEMAKER_TENSORBOARD_PATH,
    TENSORBOARD_CONFIG_FILE_PATH_ENV_STR,
)

__all__ = ["SagemakerSimulator", "ScriptSimulator"]


class SagemakerSimulator:
    """A context in which the process seems to be a training job of SageMaker.

    It writes the hook's configuration and that of TensorBoard, and sets the variables
    SMDEBUG_CONFIG_FILE_PATH, TENSORBOARD_CONFIG_FILE_PATH and TRAINING_JOB_NAME.
    Afterwards the files are removed and the variables are as before.

    Parameters
    ----------
    json_config_path : str
        Where the hook's configuration is written.
    tensorboard_dir : str
        The folder that TensorBoard's configuration names.
    training_job_name : str
        The name of the job.
    json_file_contents : str
        The hook's configuration.
    cleanup : bool
        Whether the folder of tensors is emptied before, and files and variables are taken
        away afterwards.

    Attributes
    ----------
    out_dir : str
        The folder of tensors, which SageMaker fixes.
    tb_json_config_path : str
        Where TensorBoard's configuration is written, which SageMaker fixes.
    """

    def __init__(
        self,
        json_config_path: str = "/tmp/zcc_config.json",
        tensorboard_dir: str = "/tmp/tensorboard",
        training_job_name: str = "sm_job",
        json_file_contents: str = "{}",
        cleanup: bool = True,
    ) -> None:
        self.out_dir = DEFAULT_SAGEMAKER_OUTDIR
        self.json_config_path = json_config_path
        self.tb_json_config_path = DEFAULT_SAGEMAKER_TENSORBOARD_PATH
        self.tensorboard_dir = tensorboard_dir
        self.training_job_name = training_job_name
        self.json_file_contents = json_file_contents
        self.cleanup = cleanup
        self._before: Dict[str, Optional[str]] = {}

    def __enter__(self) -> SagemakerSimulator:
        if self.cleanup:
            _remove(self.out_dir)
        _write(self.json_config_path, self.json_file_contents)
        _write(self.tb_json_config_path, json.dumps({"LocalPath": self.tensorboard_dir}))
        variables = {
            CONFIG_FILE_PATH_ENV_STR: self.json_config_path,
            TENSORBOARD_CONFIG_FILE_PATH_ENV_STR: self.tb_json_config_path,
            "TRAINING_JOB_NAME": self.training_job_name,
        }
        self._before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        return self

    def __exit__(self, *unused: object) -> None:
        if not self.cleanup:
            return
        for path in (self.json_config_path, self.tb_json_config_path):
            if os.path.exists(path):
                os.remove(path)
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class ScriptSimulator:
    """A context whose folders are removed before and after it.

    Parameters
    ----------
    out_dir : str
        The folder of tensors.
    tensorboard_dir : str, optional
        The folder of files for TensorBoard.
    """

    def __init__(self, out_dir: str = "/tmp/test", tensorboard_dir: Optional[str] = None) -> None:
        self.out_dir = out_dir
        self.tensorboard_dir = tensorboard_dir

    def __enter__(self) -> ScriptSimulator:
        self._remove()
        return self

    def __exit__(self, *unused: object) -> None:
        self._remove()

    def _remove(self) -> None:
        for folder in filter(None, (self.out_dir, self.tensorboard_dir)):
            _remove(folder)


def _remove(folder: str) -> None:
    # Slow to import, and needed in tests alone.
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def _write(path: str, content: str) -> None:
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
