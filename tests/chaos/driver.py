"""The user: `python -m chaos.driver FOLDER`. Started again, it goes on with the step at hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from chaos.house import House
from chaos.snapshot import snapshot
from chaos.steps import STEPS
from cluster.settings import load_settings


def main(folder: Path) -> None:
    house = House(settings=load_settings(), folder=folder)
    done = folder / "done"
    done.mkdir(exist_ok=True)
    for name, step in STEPS.items():
        if not (done / name).exists():
            step(house)
            (done / name).touch()
    state = snapshot(house.settings)
    (folder / "end.json").write_text(json.dumps(state, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
