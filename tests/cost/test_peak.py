#!/usr/bin/env python3
# label: truth
# timeout: 600
"""Peaks within 15 % of XLA's: small models that compile in seconds, a few baselines each; of them each kind that was once
outside: activations split over data (depth first holds more), the causal mask, donated arguments read for the last time early."""
import os
import subprocess
import sys

source = os.environ["TOAST_SOURCE"]
sys.exit(subprocess.run([sys.executable, os.path.join(source, "bench", "peak.py"), "--models",
                         "mlp,paper_attention,itx,gpt_torch,t2b", "--only",
                         "replicated,batch:data,batch:data+batch:model,batch:data+megatron:model,fsdp:data+megatron:model,"
                         "megatron:data+batch:model,zero2:data+fsdp:model"]).returncode)
