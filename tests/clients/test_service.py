#!/usr/bin/env python3
# label: truth
# timeout: 240
"""toast.plan(url=..): the same plan as by the program here, refusals with their pointer, a server that is away for a while."""
import os
import sys
import threading
import time

import support

support.enter("truth")
sys.path.insert(0, os.path.join(support.SOURCE, "tests", "service"))

import checks  # noqa: E402
import harness  # noqa: E402
import jax  # noqa: E402
import models  # noqa: E402

import toast  # noqa: E402

STEP, ARGS, _ = models.mlp()
OPTIONS = {"mesh": {"data": 4, "model": 2}, "device": "a100-40", "rollouts": 200}


def main():
    service = harness.Service(workers=1)
    try:
        url = f"http://127.0.0.1:{service.port}"
        said = []
        jitted = jax.jit(STEP, donate_argnums=0)
        there = toast.plan(jitted, *ARGS, **OPTIONS, url=url, progress=said.append)
        here = toast.plan(jitted, *ARGS, **OPTIONS)
        for name in ("plan.json", "annotated.mlir", "report.json"):
            assert there.files[name] == here.files[name], f"{name} differs"
        assert checks.distance(STEP(*ARGS), there.jit()(*checks.host(ARGS))) < 1e-5
        assert said, "progress is shown"
        for more, kind, word in (({"device": "a100-41"}, toast.RequestRefused, "/device"),
                                 ({"planner": "best"}, toast.RequestRefused, "planner")):
            try:
                toast.plan(jitted, *ARGS, **{**OPTIONS, **more}, url=url)
            except toast.ToastError as error:
                assert type(error) is kind and word in str(error), f"{type(error).__name__}: {error}"
                assert str(error).count("not in the catalogue") <= 1, f"a reason that is said twice: {error}"
            else:
                raise AssertionError(f"{more} was taken")

        # away for two seconds: tried again, and said
        service.server.kill()
        service.server.wait()
        said.clear()
        port = service.port

        def back():
            time.sleep(2)
            service.port = port
            service.start_server()
        thread = threading.Thread(target=back)
        thread.start()
        try:
            again = toast.plan(jitted, *ARGS, **OPTIONS, url=url, progress=said.append, patience_s=60.0)
        finally:
            thread.join()
        assert again.files["plan.json"] == here.files["plan.json"]
        assert any("again in" in line for line in said), said
    finally:
        service.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
