#!/usr/bin/env python3
"""Opens the doctor's page from the disk in headless Chromium and Firefox, as a user does: chooses traces, waits for reports, saves
them, and compares their bytes with what the native program writes.

    web_page.py [--page PAGE] [--native PELLUCID_DOCTOR] [--browser chromium|firefox] [--measure TRACE...]

PELLUCID_CHROMIUM and PELLUCID_FIREFOX name browsers that are not in the path; PELLUCID_TRACES names a folder of real traces.
"""
import argparse
import functools
import gzip
import html
import http.server
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "doctor/tests"), str(ROOT / "packaging/doctor")]
import browser  # noqa: E402
import firefox  # noqa: E402
import same_output  # noqa: E402

MAX_PAGE_BYTES = 1_200_000
WAIT_SECONDS = 60
MEASURE_SECONDS = 600
# In the browsers; packaging/doctor/same_output.py compares all of them, with node.
REAL = ("h100_bertsmall_eager.json.gz", "v100_big_216k_events_memory_rank1of2.json.gz", "neg_cpu_only_rank34.json.gz")
SMALL_MEMORY_PAGES = 288
CONTENTS = ("fmt", "simdjson", "CLI11", "ISA-L", "zstd", "zig", "libc++", "wasi-libc", "musl")  # whose licences it shows

# Every way in which a script could send a byte; each must be refused before it reaches the server.
REQUESTS = """
  const attempts = {
    fetch: () => fetch(address + 'fetch', {mode: 'no-cors'}),
    image: () => { new Image().src = address + 'image.png'; },
    script: () => { document.head.append(Object.assign(document.createElement('script'), {src: address + 'script.js'})); },
    style: () => { document.head.append(Object.assign(document.createElement('link'), {rel: 'stylesheet', href: address + 'style.css'})); },
    beacon: () => navigator.sendBeacon(address + 'beacon', 'bytes'),
    socket: () => { new WebSocket(address.replace('http', 'ws') + 'socket'); },
    frame: () => { document.body.append(Object.assign(document.createElement('iframe'), {src: address + 'frame'})); },
    form: () => {
      const target = Object.assign(document.createElement('iframe'), {name: 'target'});
      const form = Object.assign(document.createElement('form'), {action: address + 'form', target: 'target'});
      document.body.append(target, form);
      form.submit();
    },
    worker: () => {
      const code = `fetch(${JSON.stringify(address + 'worker')}, {mode: 'no-cors'}).catch(() => {})`;
      new Worker(URL.createObjectURL(new Blob([code], {type: 'text/javascript'})));
    },
  };
  const refused = new Set();
  addEventListener('securitypolicyviolation', (event) => refused.add(event.effectiveDirective));
  (async () => {
    for (const attempt of Object.values(attempts)) {
      try { await attempt(); } catch {}
    }
    await new Promise((done) => setTimeout(done, 700));
    document.documentElement.dataset.refused = [...refused].sort().join(' ');
  })();
"""
EXPECTED_REQUESTS = {"fetch", "image.png", "script.js", "style.css", "beacon", "socket", "frame", "form", "worker"}
EXPECTED_REFUSALS = {"connect-src", "img-src", "script-src-elem", "style-src-elem", "frame-src"}


class Failure(Exception):
    pass


def check(holds, message):
    if not holds:
        raise Failure(message)


def say(*words):
    print(*words, flush=True)


class CountingServer:
    """A server on this machine that notes which paths were asked for."""

    def __enter__(self):
        seen = self.seen = set()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                seen.add(self.path.split("?")[0].lstrip("/"))
                self.send_response(204)
                self.end_headers()

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()


class Native:
    """What the native program writes for a trace that it is given by its file name, as a page knows it."""

    def __init__(self, path):
        self.path = path

    def run(self, paths, *options):
        return subprocess.run([self.path, *options, *[path.name for path in paths]], cwd=paths[0].parent, capture_output=True,
                              timeout=MEASURE_SECONDS)

    @functools.lru_cache(maxsize=None)
    def report(self, trace):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "report.html")
            done = self.run([trace], "--html", page)
            return done.stderr.decode(), page.read_bytes() if page.exists() else None


def state(page):
    return page.run("document.body.dataset.state")


def choose(page, paths, seconds=WAIT_SECONDS):
    """Chooses files and waits for the end; returns the state and the seconds that it took."""
    page.run("(document.body.dataset.state = 'waiting')")  # an earlier error is shown until the next run starts
    begin = time.monotonic()
    page.choose_files("#files", paths)
    try:
        page.wait_for("!['waiting', 'reading'].includes(document.body.dataset.state)", seconds)
    except RuntimeError:
        raise Failure(f"{paths[0].name}: there is no report after {seconds} s; the page is {state(page)}") from None
    return state(page), time.monotonic() - begin


def saved(page):
    """The bytes that the page's link saves."""
    for old in page.downloads.iterdir():
        old.unlink()
    page.click("#save")
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        files = list(page.downloads.iterdir())
        if len(files) == 1 and files[0].suffix in (".html", ".txt") and files[0].stat().st_size != 0:
            return files[0].read_bytes()
        time.sleep(0.02)
    raise Failure("the report could not be saved")


def again(page):
    page.click("#again")
    check(state(page) == "waiting", "after 'Another trace' the page does not wait for one")


def check_no_request(page, address):
    """First that the same requests of a page without a policy arrive: otherwise this would prove nothing."""
    with tempfile.TemporaryDirectory() as folder, CountingServer() as server:
        script = f"const address = {json.dumps(server.address)};\n{REQUESTS}"
        add = f"document.head.append(Object.assign(document.createElement('script'), {{textContent: {json.dumps(script)}}}))"
        open_page = pathlib.Path(folder, "open.html")
        open_page.write_text("<!DOCTYPE html><title>No policy</title><body></body>", encoding="utf-8")
        for target, expected in ((open_page.as_uri(), EXPECTED_REQUESTS), (address, set())):
            server.seen.clear()
            page.open(target)
            page.run(f"({add}, true)")
            page.wait_for("document.documentElement.dataset.refused !== undefined")
            check(server.seen == expected, f"requests that reached a server: {sorted(server.seen)}, expected {sorted(expected)}")
        refused = set(page.run("document.documentElement.dataset.refused").split())
        check(refused >= EXPECTED_REFUSALS, f"refused by the policy: {sorted(refused)}, expected {sorted(EXPECTED_REFUSALS)}")
    say(f"  {len(EXPECTED_REQUESTS)} kinds of requests refused by {len(refused)} directives; without the policy all arrive")


def check_report(page, native, trace):
    complaint, expected = native.report(trace)
    found, seconds = choose(page, [trace])
    if expected is None:
        check(found == "problem", f"{trace.name}: expected an error, the page shows a {found}")
        shown = page.run("document.getElementById('problem-text').textContent")
        check(shown == complaint.rstrip("\n"), f"{trace.name}: expected the error {complaint!r}, found {shown!r}")
        say(f"  {trace.name}: the error of the native program in {seconds:.1f} s")
        return
    check(found == "report", f"{trace.name}: expected a report, the page shows a {found}: " +
          page.run("document.getElementById('problem-text').textContent"))
    bytes_saved = saved(page)
    check(bytes_saved == expected, f"{trace.name}: the saved report ({len(bytes_saved)} bytes) differs from --html ({len(expected)})")
    verdict = wait_for_verdict(page).replace("\N{NO-BREAK SPACE}", " ")
    check(verdict in html.unescape(expected.decode()), f"{trace.name}: the shown report says {verdict!r}")
    say(f"  {trace.name}: report in {seconds:.1f} s, {len(expected)} bytes as of the native program")
    again(page)


def wait_for_verdict(page):
    """The report is there when its own script has run."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        try:
            if verdict := page.run_in_frame("#report", "document.querySelector('#verdict h1')?.textContent ?? ''"):
                return verdict
        except (RuntimeError, StopIteration):  # the frame is being loaded
            pass
        time.sleep(0.05)
    raise Failure("the report is not shown")


def check_ranks(page, native, paths):
    expected = native.run(paths, "--ranks").stdout
    found, seconds = choose(page, paths)
    check(found == "text", f"{len(paths)} ranks: expected text, the page shows a {found}")
    check(page.run("document.getElementById('text').textContent") == expected.decode(), "the shown text differs from --ranks")
    check(saved(page) == expected, "the saved text differs from --ranks")
    say(f"  {len(paths)} ranks: text in {seconds:.1f} s as of the native program")
    again(page)


def check_progress_and_cancel(page, trace):
    page.choose_files("#files", [trace])
    page.wait_for("document.getElementById('progress').value > 0.05")
    shown = page.run("document.getElementById('reading-bytes').textContent")
    check("MB of" in shown, f"progress is shown as {shown!r}")
    check(state(page) == "reading", f"while it reads the page is {state(page)}")
    page.click("#cancel")
    check(state(page) == "waiting", f"after Cancel the page is {state(page)}")
    say(f"  progress: {shown!r}; cancelled")


def check_memory_limit(page, built_page, trace):
    text = built_page.read_text(encoding="utf-8")
    limit = "kMaxMemoryPages = 64 * 1024"
    check(limit in text, f"the page does not contain {limit!r}")
    with tempfile.TemporaryDirectory() as folder:
        small = pathlib.Path(folder, "small.html")
        small.write_text(text.replace(limit, f"kMaxMemoryPages = {SMALL_MEMORY_PAGES}"), encoding="utf-8")
        page.open(small.as_uri())
        found, _ = choose(page, [trace])
        shown = page.run("document.getElementById('problem').textContent")
    check(found == "problem" and "pip install pellucid-doctor" in shown and trace.name in shown,
          f"without memory the page is {found}: {shown!r}")
    say(f"  out of memory: {page.run('document.getElementById(`problem-title`).textContent')!r}, names the native program")


def check_narrow(page):
    page.resize(360, 740)
    wide = page.run("document.scrollingElement.scrollWidth - innerWidth")
    check(wide <= 0, f"in a window of 360 pixels the page is {wide} wider")
    page.resize(1280, 860)
    say("  fits a window of 360 pixels")


def check_licences(page):
    shown = page.run("document.querySelector('#licences pre').textContent")
    headings = set(shown.split("\n" + "=" * 100 + "\n")[1::2])
    missing = [name for name in CONTENTS if not any(heading.startswith(name) for heading in headings)]
    check(not missing, f"the page shows no licence of {', '.join(missing)}")
    check("pellucid-doctor" in headings and "Apache License" in shown, "the page does not show its own licence")
    say(f"  {len(headings)} licences, {len(shown)} characters")


def check_runtime(page_path):
    """The tests of packaging/web/runtime, which build.py compiles for WebAssembly next to the program."""
    program = page_path.parent / "program/runtime/runtime_test.wasm"
    if not program.is_file():
        say(f"{program} does not exist: the tests of the runtime are not run")
        return
    done = subprocess.run(["node", ROOT / "packaging/web/run_in_node.mjs", program], capture_output=True, text=True, timeout=WAIT_SECONDS)
    check(done.returncode == 0, f"{program.name} has failed:\n{done.stdout}{done.stderr}")
    say(done.stdout.strip())


def check_browser(name, module, page_path, native, files):
    path = module.find_browser()
    check(path is not None, f"{name} is not installed: apt-get install {name}")
    address = page_path.as_uri()
    with module.Browser(path) as page:
        say(f"{name}: {page.version}, {address}")
        check_no_request(page, address)
        page.open(address)
        check(state(page) == "waiting", f"a new page is {state(page)}")
        check_narrow(page)
        check_licences(page)
        for trace in files["reports"]:
            check_report(page, native, trace)
        check_ranks(page, native, files["ranks"])
        check_progress_and_cancel(page, files["slow"])
        check_report(page, native, files["reports"][0])
        check_memory_limit(page, page_path, files["slow"])


def cpu_seconds(root):
    """CPU time of a process and of those that it started, which on a busy machine says more than the time that passed."""
    parents, seconds = {}, {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(") ")[2].split()
        except OSError:  # it has ended
            continue
        process = int(stat.parent.name)
        parents[process] = int(fields[1])
        seconds[process] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def is_below(process):
        while process not in (root, 0):
            process = parents.get(process, 0)
        return process == root

    return sum(time for process, time in seconds.items() if is_below(process))


def measure(name, module, page_path, native, trace):
    native.report.cache_clear()  # both browsers are measured against a run of their own
    begin, before = time.monotonic(), os.times()
    native.report(trace)
    native_seconds, after = time.monotonic() - begin, os.times()
    native_cpu = after.children_user + after.children_system - before.children_user - before.children_system
    with module.Browser(module.find_browser()) as page:
        page.open(page_path.as_uri())
        time.sleep(2)  # the program is compiled while people look for their file
        before = cpu_seconds(page.process.pid)
        found, seconds = choose(page, [trace], MEASURE_SECONDS)
        cpu = cpu_seconds(page.process.pid) - before
        check(found == "report", f"{trace.name}: the page shows a {found}: " + page.run("document.getElementById('problem').textContent"))
        summary = page.run("document.getElementById('summary').textContent")
        same = saved(page) == native.report(trace)[1]
        say(f"{name} {page.version}: {summary}; {seconds:.2f} s, {cpu:.2f} s of CPU time; native {native_seconds:.2f} s, "
            f"{native_cpu:.2f} s of CPU time; the bytes are {'the same' if same else 'OTHERS'}")
        check(same, f"{trace.name}: the saved report differs from --html")


def zstd_frame(data):
    """A frame of zstd with uncompressed blocks, which needs no library to write."""
    blocks = [data[at:at + (128 << 10)] for at in range(0, len(data), 128 << 10)]
    frame = struct.pack("<IBI", 0xFD2FB528, 0b1010_0000, len(data))  # one segment, four bytes of size
    for i, block in enumerate(blocks):
        frame += struct.pack("<I", (i + 1 == len(blocks)) | len(block) << 3)[:3] + block
    return frame


def zstd_bomb():
    """2 KB that decompress to 64 MB of the same byte, which the doctor refuses."""
    block = struct.pack("<I", 1 << 1 | (128 << 10) << 3)[:3] + b" "
    return struct.pack("<IBI", 0xFD2FB528, 0b1010_0000, 520 * (128 << 10)) + 520 * block + struct.pack("<I", 1)[:3]


def long_trace(text, min_bytes):
    """The events of a trace again and again, later each time."""
    trace = json.loads(text)
    events = trace["traceEvents"]
    lines, size, shift = [], 0, 0.0
    period = 1 + max(event["ts"] + event.get("dur", 0) for event in events if "ts" in event) - min(
        event["ts"] for event in events if "ts" in event)
    while size < min_bytes:
        lines += [json.dumps({**event, "ts": event["ts"] + shift} if "ts" in event else event) for event in events]
        size += sum(len(line) for line in lines[-len(events):])
        shift += period
    trace["traceEvents"] = []
    return json.dumps(trace)[:-1].replace('"traceEvents": []', '"traceEvents": [' + ",\n".join(lines) + "]").encode() + b"}"


def write_files(folder):
    text = same_output.SMALL.read_bytes()
    files = {"plain.json": text, "packed.json.gz": gzip.compress(text, mtime=0), "packed.json.zst": zstd_frame(text),
             "näme with spaces.json": text, "bomb.json.zst": zstd_bomb(), **{f"damaged_{name}": data for name, data in same_output.damaged(same_output.SMALL).items()}}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    slow = folder / "slow.json"
    slow.write_bytes(long_trace(text, 40_000_000))
    real = {}
    if os.environ.get("PELLUCID_TRACES"):
        real = {path.name: path for path in same_output.find_traces(pathlib.Path(os.environ["PELLUCID_TRACES"]), None)}
    else:
        say("PELLUCID_TRACES is not set: no real traces are read")
    ranks = [path for path in real.values() if path.parent.name == "dlrm_v100_8rank"]
    return {"reports": [*(folder / name for name in files), *(real[name] for name in REAL if name in real)],
            "ranks": ranks or [folder / name for name in ("plain.json", "packed.json.gz", "packed.json.zst")], "slow": slow}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "build/web/pellucid-doctor.html")
    parser.add_argument("--native", type=pathlib.Path, default=ROOT / "build/release/bin/pellucid-doctor")
    parser.add_argument("--browser", choices=["chromium", "firefox"], action="append")
    parser.add_argument("--measure", type=pathlib.Path, nargs="+", default=[], help="only measure these traces")
    asked = parser.parse_args()
    modules = {"chromium": browser, "firefox": firefox}
    begin = time.monotonic()
    try:
        for path, how in ((asked.page, "run python3 packaging/web/build.py"), (asked.native, "run ./dev build")):
            check(path.is_file(), f"{path} does not exist: {how}")
        page, native = asked.page.resolve(), Native(asked.native.resolve())
        size = page.stat().st_size
        check(size <= MAX_PAGE_BYTES, f"{page.name} has {size} bytes; at most {MAX_PAGE_BYTES} are allowed")
        say(f"{page.name}: {size} bytes")
        with tempfile.TemporaryDirectory() as folder:
            files = None if asked.measure else write_files(pathlib.Path(folder))
            if files:
                check_runtime(page)
            for name in asked.browser or modules:
                for trace in asked.measure:
                    measure(name, modules[name], page, native, trace.resolve())
                if files:
                    check_browser(name, modules[name], page, native, files)
    except (Failure, RuntimeError) as failure:
        sys.exit(f"web page: FAILED: {failure}")
    say(f"web page: fine, {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
