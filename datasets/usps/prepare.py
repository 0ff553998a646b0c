"""Top and bottom halves of the digits of USPS, as configs/usps.toml reads them: in the order of the paper's split, the first
1,000 training digits, the 2,007 test digits, and the last 6,000 training digits.

    dsokr fetch usps && python datasets/usps/prepare.py data/usps       (NumPy and h5py)
"""

import sys
from pathlib import Path

import h5py
import numpy as np

folder = Path(sys.argv[1])
with h5py.File(folder / "usps.h5") as file:
    train, test = (file[split]["data"][:].astype("float32") for split in ("train", "test"))
assert train.shape == (7291, 256) and test.shape == (2007, 256)
digits = np.concatenate([train[:1000], test, train[-6000:]])
np.save(folder / "top.npy", digits[:, :128])
np.save(folder / "bottom.npy", digits[:, 128:])
(folder / "digits.tsv").write_text("".join(f"{row}\n" for row in ["id", *range(len(digits))]))
