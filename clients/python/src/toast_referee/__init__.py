"""The compiler that will run a plan, asked before anything runs: how long a step takes, what it holds, what it sends.

    devices.py    GPUs as XLA describes them, so that it compiles without one
    compilers.py  compiles a sharded module ahead of time, in a process of its own: XLA:GPU, libtpu
    timing.py     compiles and times on the devices of this machine, where there are any
    schedule.py   reads XLA's log: the step that its latency hiding scheduler foresees, what is exposed
    modules.py    reads XLA's final module: matmuls, other kernels, collectives, what the estimate leaves out
    compare.py    price against compiler: order of plans, loss of our choice, ratios of the terms
    plans.py      plans' modules and prices, from the toast program or from a folder of files
    serve.py      a service's worker that judges its jobs' plans, over HTTP
    __main__.py   toast-referee: compiles K plans, ranks them anew, says by how much price and compiler differ

It needs JAX with its CUDA plugin (`pip install 'jax[cuda12]==0.10.2'`) or libtpu (`libtpu==0.0.51`), no accelerator and no
driver. Nothing of TOAST needs this package. Only timing.py runs what was compiled.
"""
