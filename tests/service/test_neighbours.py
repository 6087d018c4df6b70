#!/usr/bin/env python3
# label: service
# timeout: 180
"""What one tenant asks must neither hold up another nor tell it anything: prices by turns, images of a tenant's own.

The order in which requests come and the one in which they are answered say whose turn it was; that a module is read once for each
tenant says that nobody's answer depends on what others have sent."""
import concurrent.futures
import gzip
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

LARGE = gzip.open(harness.SOURCE / "tests/models/t2b.mlir.gz").read()
SMALL = (harness.SOURCE / "tests/models/mlp.mlir").read_bytes()
REQUEST = {"mesh": {"axes": [{"name": "data", "size": 8}]}, "device": "a100-40", "baseline": "fsdp:data"}


def tenants(service, *names):
    keys = {}
    for name in names:
        made = subprocess.run([harness.BIN / "toast", "keys", "add", "--redis", service.redis_address, "--tenant", name],
                              capture_output=True, text=True, check=True)
        keys[name] = {"Authorization": "Bearer " + made.stdout.strip()}
    time.sleep(1.5)   # servers read the keys again within a second
    return keys


def price(service, headers, module):
    body, kind = harness.multipart({"module": module, "request": json.dumps(REQUEST).encode()})
    began = time.monotonic()
    status, _, data = service.request("POST", "/v1/price", body, dict(kind, **headers), timeout=170)
    assert status == 200, data
    return time.monotonic() - began


def test_prices_by_turns():
    """30 large prices of one tenant wait: another's small ones are done after those that run, each"""
    service = harness.Service()
    try:
        key = tenants(service, "greedy", "modest")
        price(service, key["greedy"], LARGE)    # its image is there from now on
        price(service, key["modest"], SMALL)
        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            began = time.monotonic()
            flood = [pool.submit(price, service, key["greedy"], LARGE) for _ in range(30)]
            time.sleep(0.3)
            own = [price(service, key["modest"], SMALL) for _ in range(3)]
            done = sum(f.done() for f in flood)
            for f in flood:
                f.result()
            whole = time.monotonic() - began
        assert done < 20, f"{done} of 30 were before three small ones, which took {own} of {whole:.1f} s"
    finally:
        service.close()


def test_images_are_a_tenants_own():
    """the second tenant's module is read anew: no time tells that the first has sent it"""
    service = harness.Service()
    try:
        key = tenants(service, "first", "second")
        for name, count in (("first", 1), ("first", 1), ("second", 2)):
            price(service, key[name], SMALL)
            images = service.redis_cli("--scan", "--pattern", "{t}:img:*").splitlines()
            assert len(images) == count, images
            assert any(f":img:{name}:" in image for image in images), images
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_prices_by_turns, test_images_are_a_tenants_own])
