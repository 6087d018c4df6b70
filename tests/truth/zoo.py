"""Models of other kinds than the planner was written on, lowered by JAX. As a program: zoo.py DIR [K [NAME..]] writes them."""
import os
import sys

import venv

if __name__ == "__main__":
    venv.enter()

import referee  # noqa: E402,F401  eight host devices, before JAX starts
import zoo_language  # noqa: E402
import zoo_other  # noqa: E402
import zoo_steps  # noqa: E402

import jax  # noqa: E402

MODELS = {**zoo_language.MODELS, **zoo_other.MODELS, **zoo_steps.MODELS}


def text(name, k=1):
    with jax.enable_x64(False):
        return MODELS[name](k)


def main():
    folder, k, names = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1, sys.argv[3:]
    os.makedirs(folder, exist_ok=True)
    for name in names or MODELS:
        with open(os.path.join(folder, name + ".mlir"), "w") as f:
            f.write(text(name, k))


if __name__ == "__main__":
    main()
