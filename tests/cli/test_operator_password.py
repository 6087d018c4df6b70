#!/usr/bin/env python3
# label: unit
"""toast keys, drain, dead, fsck: Redis' password from the environment or a file reaches Redis; one in --redis does, too, but a
warning says where it belongs and no other user of the machine sees it in the process' command line."""
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

TOAST = os.path.join(os.environ["TOAST_BIN"], "toast")
WORD = "pa55w0rd-0f-redis"
COMMANDS = (("keys", "list"), ("drain", "host:1:2"), ("dead", "list"), ("fsck",))
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED", what)


def ask(listener, command, address, environment):
    """-> what Redis is sent, the command line while it is waited for, stderr; this Redis takes the connection and hangs up"""
    process = subprocess.Popen([TOAST, *command, *address], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, **environment})
    connection, _ = listener.accept()
    with connection:
        sent = connection.recv(4096).decode()
        line = pathlib.Path(f"/proc/{process.pid}/cmdline").read_text()
    # the queue asks several times
    listener.settimeout(0.05)
    while process.poll() is None:
        try:
            listener.accept()[0].close()
        except TimeoutError:
            pass
    listener.settimeout(20)
    return sent, line, process.stderr.read(), process.returncode


def main():
    with socket.socket() as listener, tempfile.NamedTemporaryFile("w", suffix=".password") as file:
        file.write(WORD + "\n")
        file.flush()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(20)
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        ways = [("argument", ["--redis", f"redis://operator:{WORD}@{host}"], {}),
                ("argument with =", [f"--redis=redis://:{WORD}@{host}"], {}),
                ("variable", ["--redis", f"redis://operator@{host}"], {"TOAST_REDIS_PASSWORD": WORD}),
                ("file", ["--redis", f"redis://operator@{host}"], {"TOAST_REDIS_PASSWORD_FILE": file.name}),
                ("address in the environment", [], {"TOAST_REDIS": f"redis://operator:{WORD}@{host}"})]
        for command in COMMANDS:
            for name, address, environment in ways:
                if command[0] == "keys" and "=" in name:   # its options have no such form
                    continue
                sent, line, said, status = ask(listener, command, address, environment)
                what = f"toast {' '.join(command)}, password as {name}"
                check("AUTH" in sent and WORD in sent, f"{what}: Redis is sent {sent!r}")
                check(WORD not in line, f"{what}: the command line is {line!r}")
                check(WORD not in said, f"{what}: stderr has it: {said}")
                check(("TOAST_REDIS_PASSWORD_FILE" in said) == name.startswith("argument"), f"{what}: stderr says {said!r}")
                check(status == 5, f"{what}: exit status {status}")
    sys.exit(1 if failures else 0)


main()
