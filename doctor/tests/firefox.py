"""A headless Firefox that looks at a page: the same calls as Browser of browser.py, by Firefox's own protocol, Marionette.

PELLUCID_FIREFOX names it where it is not in the path.
"""
import base64
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

from browser import Waiting

PREFERENCES = {
    "browser.download.folderList": 2,  # the folder below
    "browser.download.useDownloadDir": True,
    "browser.download.always_ask_before_handling_new_types": False,
    "browser.download.alwaysOpenPanel": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.update.disabledForTesting": True,
    "network.captive-portal-service.enabled": False,
}


def find_browser():
    names = [os.environ.get("PELLUCID_FIREFOX"), "firefox-esr", "firefox"]
    return next((found for name in names if name and (found := shutil.which(name))), None)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Browser(Waiting):
    def __init__(self, path, start_seconds=60):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.downloads = pathlib.Path(self.profile.name, "downloads")
        self.downloads.mkdir()
        port = free_port()
        preferences = {**PREFERENCES, "marionette.port": port, "browser.download.dir": str(self.downloads)}
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in preferences.items()]
        pathlib.Path(self.profile.name, "user.js").write_text("".join(lines), encoding="utf-8")
        self.process = subprocess.Popen(
            [path, "--headless", "--marionette", "--no-remote", "--profile", self.profile.name],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.rest, self.last_id = b"", 0
        self.connection = self._connect(port, start_seconds)
        self._message()  # its greeting
        self.version = self.call("WebDriver:NewSession", capabilities={})["capabilities"]["browserVersion"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()

    def _connect(self, port, seconds):
        end = time.monotonic() + seconds
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port))
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    self.process.kill()
                    raise RuntimeError("Firefox did not start") from None
                time.sleep(0.1)

    def _receive(self):
        piece = self.connection.recv(1 << 20)
        if not piece:
            raise RuntimeError("the browser has ended")
        self.rest += piece

    def _message(self):
        """A message is its length in decimal digits, a colon, and JSON."""
        while b":" not in self.rest:
            self._receive()
        digits, self.rest = self.rest.split(b":", 1)
        while len(self.rest) < int(digits):
            self._receive()
        message, self.rest = self.rest[:int(digits)], self.rest[int(digits):]
        return json.loads(message)

    def call(self, method, **parameters):
        self.last_id += 1
        message = json.dumps([0, self.last_id, method, parameters]).encode()
        self.connection.sendall(b"%d:%s" % (len(message), message))
        while True:
            kind, number, error, result = self._message()
            if kind == 1 and number == self.last_id:
                if error:
                    raise RuntimeError(f"{method}: {error['message']}")
                return result

    def _element(self, selector):
        found = self.call("WebDriver:FindElement", using="css selector", value=selector)["value"]
        return next(iter(found.values()))

    def run(self, script):
        return self.call("WebDriver:ExecuteScript", script=f"return ({script});", args=[])["value"]

    def open(self, address):
        self.call("WebDriver:Navigate", url=address)

    def choose_files(self, selector, paths):
        self.call("WebDriver:ElementSendKeys", id=self._element(selector), text="\n".join(str(path) for path in paths))

    def click(self, selector):
        self.call("WebDriver:ElementClick", id=self._element(selector))

    def run_in_frame(self, selector, script):
        frame = self.call("WebDriver:FindElement", using="css selector", value=selector)["value"]
        self.call("WebDriver:SwitchToFrame", element=next(iter(frame.values())))
        try:
            return self.run(script)
        finally:
            self.call("WebDriver:SwitchToFrame", element=None)

    def resize(self, width, height):
        self.call("WebDriver:SetWindowRect", width=width, height=height)

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("WebDriver:TakeScreenshot", full=False)["value"]))
