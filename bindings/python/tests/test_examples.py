"""The examples run, and what they train is far above chance."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import dsokr

FOLDER = Path(__file__).parents[1]
QUICKSTART = FOLDER.parents[1] / "datasets" / "quickstart"


def test_pytorch_custom():
    pytest.importorskip("torch")
    spec = importlib.util.spec_from_file_location("pytorch_custom", FOLDER / "examples" / "pytorch_custom.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for ranks in module.main(QUICKSTART):
        assert len(ranks) == 200 and ranks.metrics()["mrr"] > 0.2


def test_torch_tensors_are_read_in_place():
    torch = pytest.importorskip("torch")
    tensor = torch.ones(4, 3)
    assert dsokr.as_rows(tensor).address == tensor.data_ptr()
    assert np.array_equal(dsokr.as_rows(tensor.double()).toarray(), np.ones((4, 3)))
    with pytest.raises(dsokr.ConfigError, match="Y: .*grad"):
        dsokr.as_rows(torch.ones(2, 2, requires_grad=True))


def test_readme():
    """The program of the README runs."""
    program = re.search(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(), re.DOTALL)
    exec(compile(program[1], "README.md", "exec"), {})
