"""A small client of WebDriver (W3C) for headless Chromium: what the dashboard's tests need, with Python's standard library."""
import base64
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Space": " ", "Shift": "\ue008", "Escape": "\ue00c", "Down": "\ue015"}


def sweep(profile):
    """ends what still runs with this profile, which nobody else has, and removes it"""
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and profile.encode() in pathlib.Path("/proc", entry, "cmdline").read_bytes():
                os.kill(int(entry), signal.SIGKILL)
        except OSError:
            pass   # it has ended by itself
    shutil.rmtree(profile, ignore_errors=True)


def sweep_afterwards(profile):
    """-> a descriptor: when it is closed, also because this process was killed, a process of its own sweeps; and that one's id"""
    reader, writer = os.pipe()
    sweeper = os.fork()
    if sweeper == 0:
        os.close(writer)
        os.setsid()
        os.read(reader, 1)
        sweep(profile)
        os._exit(0)
    os.close(reader)
    return writer, sweeper


class Browser:
    """chromedriver + Chromium; close() ends both"""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="toast-web-")
        self.alive, self.sweeper = sweep_afterwards(self.profile)
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                       env=dict(os.environ, HOME=self.profile, TMPDIR=self.profile))
        self.port = self.session = None
        try:
            for line in self.driver.stdout:
                found = re.search(r"started successfully on port (\d+)", line)
                if found:
                    self.port = int(found[1])
                    break
            flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--disable-background-networking", "--no-first-run", f"--user-data-dir={self.profile}/profile"]
            value = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome", "goog:chromeOptions": {"args": flags}, "goog:loggingPrefs": {"browser": "ALL"}}}})
            self.session = value["sessionId"]
            self.on("POST", "timeouts", {"script": 60000, "pageLoad": 60000, "implicit": 0})
        except BaseException:
            self.close()
            raise

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=90)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value and "message" in value:
            raise RuntimeError(f"{value['error']}: {value['message'][:600]}")
        return value

    def on(self, method, path, body=None):
        return self.call(method, f"/session/{self.session}/{path}", body)

    def cdp(self, command, **parameters):
        return self.on("POST", "goog/cdp/execute", {"cmd": command, "params": parameters})

    def go(self, url):
        self.on("POST", "url", {"url": url})

    def run(self, script, *arguments):
        return self.on("POST", "execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        return self.on("POST", "execute/async", {"script": script, "args": list(arguments)})

    def find(self, selector):
        return self.on("POST", "element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.on("POST", f"element/{self.find(selector)}/click", {})

    def type(self, selector, text):
        self.on("POST", f"element/{self.find(selector)}/value", {"text": text})

    def text(self, selector="body"):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def press(self, *keys):
        for key in keys:
            value = KEYS.get(key, key)
            self.on("POST", "actions", {"actions": [{"type": "key", "id": "keyboard", "actions": [
                {"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]}]})

    def wait(self, condition, what, seconds=40):
        """until the function gives something true; -> that"""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            value = condition()
            if value:
                return value
            time.sleep(0.1)
        raise AssertionError(f"{what}: not after {seconds} s; the page says: {self.text()[:800]}")

    def errors(self):
        """what pages complained about since the last call"""
        return [entry["message"] for entry in self.on("POST", "se/log", {"type": "browser"}) if entry["level"] == "SEVERE"]

    def look(self, width, dark):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def picture(self, path):
        shot = self.cdp("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        try:
            if self.session:
                self.call("DELETE", f"/session/{self.session}")
        except (OSError, RuntimeError, http.client.HTTPException):
            pass
        self.driver.terminate()
        self.driver.wait(20)
        os.close(self.alive)
        os.waitpid(self.sweeper, 0)
