#!/usr/bin/env python3
"""Event streams: how late events arrive and what the streams cost the server.

Example:
    TOAST_BIN=build/release/bin bench/events.py --streams 200 --jobs 90

Jobs that nobody works on are watched by all streams in turn, then cancelled one after another. An event's id is the time (ms) at
which Redis wrote it; late is the time from then until the client has read it. Prints a table."""
import argparse
import pathlib
import re
import selectors
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "service"))
import harness

MODEL = "module { func.func @main(%x: tensor<8x4xf32>) -> tensor<8x4xf32> { return %x : tensor<8x4xf32> } }"
REQUEST = {"module": {"inline": MODEL}, "mesh": {"axes": [{"name": "data", "size": 2}]}, "device": "a100-40"}


def resident_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])


def watch(port, jobs, streams):
    """-> open sockets, spread over the jobs"""
    out = []
    for i in range(streams):
        s = socket.create_connection(("127.0.0.1", port))
        s.sendall(f"GET /v1/jobs/{jobs[i % len(jobs)]}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        out.append(s)
    return out


def read(sockets, late, ready, seconds=60):
    """reads until all streams have ended; milliseconds from each event's id to its arrival"""
    selector = selectors.DefaultSelector()
    text = {}
    for s in sockets:
        s.setblocking(False)
        selector.register(s, selectors.EVENT_READ)
        text[s] = b""
    seen, open_streams, until = 0, len(sockets), time.monotonic() + seconds
    while open_streams and time.monotonic() < until:
        for key, _ in selector.select(1):
            chunk = key.fileobj.recv(65536)
            now = time.time() * 1000
            for ms in re.findall(rb"^id: (\d+)-", chunk, re.M):
                seen += 1
                if seen > len(sockets):   # the first of each stream is older than the stream
                    late.append(now - int(ms))
            if seen >= len(sockets):
                ready.set()
            text[key.fileobj] = text[key.fileobj][-16:] + chunk
            if not chunk or text[key.fileobj].endswith(b"0\r\n\r\n"):
                selector.unregister(key.fileobj)
                open_streams -= 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=200, help="streams that watch; default %(default)s")
    parser.add_argument("--jobs", type=int, default=90, help="jobs of the second row; default %(default)s")
    a = parser.parse_args()
    print("| streams | jobs | events | p50 ms | p99 ms | worst ms | server before MiB | with streams MiB |")
    print("|---|---|---|---|---|---|---|---|")
    for jobs in (1, a.jobs):
        service = harness.Service()
        try:
            ids = [service.json("POST", "/v1/jobs", dict(REQUEST, seed=i))[1]["id"] for i in range(jobs)]
            before = resident_kib(service.server.pid)
            late, ready = [], threading.Event()
            sockets = watch(service.port, ids, a.streams)
            reader = threading.Thread(target=read, args=(sockets, late, ready))
            reader.start()
            ready.wait(30)
            with_streams = resident_kib(service.server.pid)
            for job in ids:
                service.request("POST", f"/v1/jobs/{job}:cancel")
            reader.join()
            late.sort()
            print(f"| {a.streams} | {jobs} | {len(late)} | {late[len(late) // 2]:.1f} | {late[len(late) * 99 // 100]:.1f} | "
                  f"{late[-1]:.1f} | {before / 1024:.1f} | {with_streams / 1024:.1f} |", flush=True)
        finally:
            service.close()


if __name__ == "__main__":
    main()
