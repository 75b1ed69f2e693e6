# SPDX-License-Identifier: MIT
"""A browser without a window, driven through chromedriver's HTTP interface; and the pixels of its screenshots."""
import base64
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zlib

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--force-device-scale-factor=1"]
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015",
        "Home": "\ue011", "Backspace": "\ue003"}
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def missing():
    """What is not installed, or None."""
    if not shutil.which("chromedriver"):
        return "chromedriver is not installed"
    return None if shutil.which("chromium") else "chromium is not installed"


class Browser:
    def __init__(self, width=1300, height=800, scripts=True):
        self.folder = tempfile.mkdtemp()
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.session = None
        port = None
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                port = int(line.rstrip(". \n").rsplit(" ", 1)[1])
                break
        self.base = f"http://127.0.0.1:{port}"
        options = {"binary": shutil.which("chromium"),
                   "args": FLAGS + [f"--user-data-dir={self.folder}", f"--window-size={width},{height}"]}
        if not scripts:
            options["prefs"] = {"profile.managed_default_content_settings.javascript": 2}
        try:
            made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        except RuntimeError as e:
            # A browser that is installed and cannot start says nothing of what it was to open.
            self.close()
            print("skipped: the browser does not start here:", str(e)[:200])
            sys.exit(77)
        except Exception:
            self.close()
            raise
        self.session = made["sessionId"]

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.base + path, method=method, headers={"Content-Type": "application/json"},
                                         data=json.dumps(body if body is not None else {}).encode() if method == "POST" else None)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as e:
            raise RuntimeError(f"{path}: {e.read().decode()[:500]}") from None

    def do(self, method, path, body=None):
        return self.call(method, f"/session/{self.session}{path}", body)

    def open(self, path):
        self.do("POST", "/url", {"url": "file://" + os.path.abspath(path)})

    def run(self, script, *arguments):
        return self.do("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, ident):
        return self.run("return document.getElementById(arguments[0]).textContent", ident)

    def keys(self, *names):
        actions = []
        for name in names:
            key = KEYS.get(name, name)
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.do("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})
        self.settle()

    def pointer(self, x, y, click=False):
        actions = [{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)}]
        if click:
            actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.do("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})
        self.settle()

    def settle(self):
        """Until the next picture is drawn."""
        self.do("POST", "/execute/async", {"script": "const done = arguments[0]; requestAnimationFrame(() => "
                                                     "requestAnimationFrame(() => done()))", "args": []})

    def errors(self):
        return [f"{e['level']}: {e['message']}" for e in self.do("POST", "/se/log", {"type": "browser"}) if e["level"] == "SEVERE"]

    def screenshot(self, name=None):
        png = base64.b64decode(self.do("GET", "/screenshot"))
        folder = os.environ.get("PROFCONV_SCREENSHOTS")
        if folder and name:
            with open(os.path.join(folder, name + ".png"), "wb") as file:
                file.write(png)
        return Pixels(png)

    def close(self):
        try:
            if self.session:
                self.do("DELETE", "")
        except (OSError, RuntimeError):
            pass
        self.driver.terminate()
        try:
            self.driver.wait(20)
        except subprocess.TimeoutExpired:
            self.driver.kill()
            self.driver.wait()
        self.driver.stdout.close()
        for _ in range(20): # the browser's last processes may still be writing
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.exists(self.folder):
                break
            time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Pixels:
    """An 8-bit RGB or RGBA picture without interlacing, as browsers make them."""

    def __init__(self, png):
        at, parts = 8, b""
        while at < len(png):
            size, kind = struct.unpack_from(">I4s", png, at)
            if kind == b"IHDR":
                self.width, self.height, depth, color = struct.unpack_from(">IIBB", png, at + 8)
                assert depth == 8 and color in (2, 6), (depth, color)
                self.step = 3 if color == 2 else 4
            elif kind == b"IDAT":
                parts += png[at + 8:at + 8 + size]
            at += 12 + size
        raw, line = zlib.decompress(parts), self.width * self.step
        self.rows, last = [], bytearray(line)
        for y in range(self.height):
            start = y * (line + 1)
            row = bytearray(raw[start + 1:start + 1 + line])
            self._filter(raw[start], row, last)
            self.rows.append(row)
            last = row

    def _filter(self, kind, row, above):
        step = self.step
        for i in range(len(row) if kind else 0):
            left = row[i - step] if i >= step else 0
            up, corner = above[i], above[i - step] if i >= step else 0
            if kind == 1:
                add = left
            elif kind == 2:
                add = up
            elif kind == 3:
                add = (left + up) >> 1
            else:
                p = left + up - corner
                a, b, c = abs(p - left), abs(p - up), abs(p - corner)
                add = left if a <= b and a <= c else up if b <= c else corner
            row[i] = (row[i] + add) & 255

    def at(self, x, y):
        i = int(x) * self.step
        return "#" + bytes(self.rows[int(y)][i:i + 3]).hex()
