#!/usr/bin/env python3
# label: soak
# timeout: 400
"""Workers on other hosts: each in a network namespace and with a file system view of its own, with nothing but Redis' address
and the server's. Then the network fails: link down, blackhole route, delay, half-open connections."""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults
import harness
from relay import Relay

TOKEN = "a-worker-token-of-the-fault-tests"
CUT_S = 14   # longer than a lease and what it takes to notice


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


class Hosts:
    """redis and server here, workers in namespaces a and b that reach us over a link each"""
    made = 0   # the kernel takes its time to remove a link whose namespace is gone: names and addresses are used once

    def __init__(self):
        number, Hosts.made = Hosts.made, Hosts.made + 1
        self.names = [f"toast-{os.getpid()}-{number}{x}" for x in "ab"]
        self.links = [f"t{os.getpid() % 100000}n{number}{x}" for x in "ab"]
        self.addresses = [f"10.231.{os.getpid() % 250}.{1 + 4 * i + 8 * number}" for i in range(2)]
        self.caches = [pathlib.Path(tempfile.mkdtemp(prefix="toast-cache-")) for _ in self.names]
        self.service = None
        try:
            for name, link, address in zip(self.names, self.links, self.addresses):
                run("ip", "netns", "add", name)
                run("ip", "link", "add", link, "type", "veth", "peer", "name", "up0", "netns", name)
                run("ip", "addr", "add", address + "/30", "dev", link)
                run("ip", "link", "set", link, "up")
                base, _, last = address.rpartition(".")
                run("ip", "-n", name, "addr", "add", f"{base}.{int(last) + 1}/30", "dev", "up0")
                run("ip", "-n", name, "link", "set", "up0", "up")
                run("ip", "-n", name, "link", "set", "lo", "up")
            with socket.create_server(("127.0.0.1", 0)) as probe:
                self.redis_port = probe.getsockname()[1]
            self.service = harness.Service(
                environment={"TOAST_WORKER_TOKEN": TOKEN},
                redis_options=["--port", str(self.redis_port), "--bind", "127.0.0.1", *self.addresses, "--protected-mode", "no"],
                server_options=["--listen", "0.0.0.0:0", "--insecure-listen"])
        except BaseException:
            self.close()
            raise

    def start_worker(self, host, redis_port=None, server_port=None):
        """in namespace `host`; where the service's folder is, it sees an empty one"""
        service = self.service
        address = self.addresses[host]
        worker = subprocess.Popen(
            ["ip", "netns", "exec", self.names[host], "unshare", "--mount", "sh", "-c",
             f"mount -t tmpfs none {service.folder} && exec \"$@\"", "sh", harness.BIN.resolve() / "toast-worker", "--redis",
             f"redis://{address}:{redis_port or self.redis_port}", "--store", f"http://{address}:{server_port or service.port}",
             "--threads", "1", "--nice", "0", "--cache-limit", "50000000"],
            stdout=service.log, stderr=service.log, env=dict(service.environment, TOAST_CACHE=str(self.caches[host])))
        service.workers.append(worker)
        return worker

    def alive(self, count, seconds=90):
        """until so many workers have beaten within the last 4 s"""
        end = harness.deadline(seconds)
        while True:
            now = int(self.service.redis_cli("TIME").split("\n")[0]) * 1000
            if int(self.service.redis_cli("ZCOUNT", "{t}:workers", str(now - 4000), "+inf")) == count:
                return
            assert time.monotonic() < end, f"not {count} workers"
            time.sleep(0.1)

    def close(self):
        if self.service:
            self.service.close()
        for name, cache in zip(self.names, self.caches):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
            shutil.rmtree(cache, ignore_errors=True)


@contextlib.contextmanager
def two_workers(count):
    """hosts with a worker on each, both alive, and what `count` requests must give"""
    expected = faults.references(range(count))
    with contextlib.closing(Hosts()) as hosts:
        workers = [hosts.start_worker(0), hosts.start_worker(1)]
        hosts.alive(2)
        yield hosts, workers, expected


def settle(service, jobs, expected):
    for number, job in jobs:
        body = faults.wait(service, job)
        assert body["state"] == "succeeded", body
        assert not faults.differences(service, job, expected[number]), job
    faults.check(service, [job for _, job in jobs])
    assert faults.counters(service).get("nondeterminism", 0) == 0


def stored(cache):
    return sum(1 for f in (cache / "blobs").rglob("*") if f.is_file())


def test_nothing_in_common():
    with two_workers(24) as (hosts, workers, expected):
        service = hosts.service
        for worker in workers:
            assert os.listdir(f"/proc/{worker.pid}/root{service.folder}") == [], "it sees the service's folder"
        settle(service, [(n, faults.submit(service, *faults.request(n))) for n in range(24)], expected)
        assert all(stored(cache) > 0 for cache in hosts.caches), "one worker did everything"
        # without the token there is no store
        assert service.request("GET", "/internal/blobs/" + 64 * "0")[0] == 404
        status, _, _ = service.request("GET", "/internal/blobs/" + 64 * "0", headers={"Authorization": "Bearer wrong"})
        assert status == 404


def test_cut():
    """a link goes down, later a route leads nowhere: the other worker goes on, and the first one comes back"""
    with two_workers(20) as (hosts, workers, expected):
        service = hosts.service
        cuts = [(lambda: run("ip", "link", "set", hosts.links[0], "down"), lambda: run("ip", "link", "set", hosts.links[0], "up")),
                (lambda: run("ip", "-n", hosts.names[1], "route", "add", "blackhole", hosts.addresses[1] + "/32"),
                 lambda: run("ip", "-n", hosts.names[1], "route", "del", "blackhole", hosts.addresses[1] + "/32"))]
        for i, (cut, heal) in enumerate(cuts):
            jobs = [(n, faults.submit(service, *faults.request(n))) for n in range(10 * i, 10 * i + 10)]
            faults.wait(service, jobs[0][1])
            began = time.monotonic()
            cut()
            hosts.alive(1)
            settle(service, jobs, expected)   # by the other alone; whatever the first held is taken up
            time.sleep(max(0, CUT_S - (time.monotonic() - began)))
            heal()
            hosts.alive(2)
        assert all(worker.poll() is None for worker in workers)
        assert faults.counters(service).get("lease_lost", 0) + faults.counters(service).get("assisted", 0) > 0


def test_relay():
    """delay costs time only; connections that are half-open are given up, and SIGTERM works while they are"""
    numbers = range(10)
    expected = faults.references(numbers)
    hosts = Hosts()
    relays = [Relay(hosts.addresses[0], ("127.0.0.1", port)) for port in (hosts.redis_port, hosts.service.port)]
    try:
        service = hosts.service
        slow = hosts.start_worker(0, relays[0].port, relays[1].port)
        hosts.alive(1)
        for relay in relays:
            relay.delay_s = 0.03
        settle(service, [(n, faults.submit(service, *faults.request(n))) for n in numbers[:3]], expected)
        jobs = [(n, faults.submit(service, *faults.request(n))) for n in numbers[3:]]
        faults.wait(service, jobs[0][1])
        for relay in relays:
            relay.deaf = True
        hosts.start_worker(1)
        settle(service, jobs, expected)
        began = time.monotonic()
        slow.send_signal(signal.SIGTERM)
        slow.wait(10)
        assert time.monotonic() - began < 6, "SIGTERM has to wait for a dead network"
        for relay in relays:
            relay.deaf = False
        hosts.start_worker(0, relays[0].port, relays[1].port)
        hosts.alive(2, 40)
        faults.check(service, [job for _, job in jobs])
    finally:
        for relay in relays:
            relay.close()
        hosts.close()


if __name__ == "__main__":
    if os.geteuid() != 0 or os.environ.get("TOAST_NO_NETWORK_NAMESPACES") == "1":
        print("SKIPPED all of test_network: network namespaces need root (TOAST_NO_NETWORK_NAMESPACES=1 says that root may not either)")
        sys.exit(0)
    harness.main([test_nothing_in_common, test_cut, test_relay])
