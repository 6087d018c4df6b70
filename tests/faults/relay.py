"""A TCP relay that can be slow, and half-open: connections stay up and nothing comes through."""
import socket
import threading
import time


class Relay:
    """listens on (host, any port) and passes to `target`; `delay_s` each way; while `deaf` it keeps what it gets"""

    def __init__(self, host, target):
        self.target, self.delay_s, self.deaf, self.open = target, 0.0, False, True
        self.listener = socket.create_server((host, 0))
        self.port = self.listener.getsockname()[1]
        self.sockets = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while self.open:
            try:
                near, _ = self.listener.accept()
                far = socket.create_connection(self.target)
            except OSError:
                continue
            self.sockets += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self.pump, args=(source, sink), daemon=True).start()

    def pump(self, source, sink):
        try:
            while data := source.recv(65536):
                time.sleep(self.delay_s)
                while self.deaf and self.open:
                    time.sleep(0.05)
                sink.sendall(data)
        except OSError:
            pass
        for s in (source, sink):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.open = False
        for s in [self.listener, *self.sockets]:
            s.close()
