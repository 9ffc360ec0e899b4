"""A headless Chromium that looks at a page: scripts, keys as a person presses them, pictures.

It is driven through a pipe, by the protocol of its developer tools. PELLUCID_CHROMIUM names it where it is not in
the path.
"""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

# Keys other than letters: their code, and the text that they type.
KEYS = {"Enter": (13, "\r"), "Space": (32, " "), "Tab": (9, ""), "Escape": (27, ""), "ArrowLeft": (37, ""),
        "ArrowUp": (38, ""), "ArrowRight": (39, ""), "ArrowDown": (40, ""), "PageUp": (33, ""), "PageDown": (34, ""),
        "End": (35, ""), "Home": (36, "")}


def find_browser():
    names = [os.environ.get("PELLUCID_CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "chrome"]
    return next((found for name in names if name and (found := shutil.which(name))), None)


class Waiting:
    """What browsers have in common."""

    def wait_for(self, script, seconds=30):
        end = time.monotonic() + seconds
        while not self.run(script):
            if time.monotonic() > end:
                raise RuntimeError(f"never true: {script}")
            time.sleep(0.02)


class Browser(Waiting):
    def __init__(self, path):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, self.out = os.pipe()
        self.incoming, theirs_out = os.pipe()

        def pipes():  # commands come on 3, answers go to 4
            a, b = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [path, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
             "--force-color-profile=srgb", f"--user-data-dir={self.profile.name}", "about:blank"],
            preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.rest, self.last_id, self.session = b"", 0, None
        self.problems = []  # what scripts threw, and errors of the console
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Log.enable")
        self.version = self.call("Browser.getVersion")["product"]
        self.downloads = pathlib.Path(self.profile.name, "downloads")
        self.downloads.mkdir()
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.out)
        os.close(self.incoming)
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()

    def _message(self):
        while b"\0" not in self.rest:
            piece = os.read(self.incoming, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def _note(self, message):
        """Notes what scripts threw, and errors of the console, such as what the page's policy forbids."""
        parameters = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif message.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.problems.append(parameters["entry"]["text"])

    def call(self, method, **parameters):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            self._note(answer)
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def run(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def settle(self):
        """Waits until what was asked for is drawn."""
        self.run("new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 120))")

    def resize(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def open(self, address):
        self.call("Page.navigate", url="about:blank")  # a new address after # alone would load nothing
        self.call("Page.navigate", url=address)
        self.wait_for("location.href !== 'about:blank' && document.readyState === 'complete'")
        self.settle()

    def press(self, key, shift=False):
        code, text = KEYS[key] if key in KEYS else (ord(key.upper()) if key.isalnum() else 0, key)
        name = " " if key == "Space" else key
        event = {"key": name, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        if len(key) == 1 and key.isalpha():
            event["code"] = f"Key{key.upper()}"
        elif key in KEYS:
            event["code"] = key
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def choose_files(self, selector, paths):
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        # Chromium does not read files whose path has ".." in it.
        self.call("DOM.setFileInputFiles", nodeId=node, files=[str(path.resolve()) for path in paths])

    def click(self, selector):
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def run_in_frame(self, selector, script):
        """Runs a script in a frame, which may have a process of its own."""
        address = self.run(f"document.querySelector({json.dumps(selector)}).src")
        own, targets = self.session, self.call("Target.getTargets")["targetInfos"]
        frame = next(target["targetId"] for target in targets if target["type"] == "iframe" and target["url"].split("#")[0] == address)
        self.session = self.call("Target.attachToTarget", targetId=frame, flatten=True)["sessionId"]
        try:
            return self.run(script)
        finally:
            self.session = own

    def picture(self, path):
        self.settle()
        data = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))
