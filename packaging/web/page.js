// The page around the doctor: takes files, starts a worker for each run, shows progress and the result.
// `document.body.dataset.state` is waiting, reading, report, text or problem.
'use strict';

const kReportName = 'out/report.html';  // names of chosen files contain no slash, so none is the same
const kReadInPart = 5;                  // an exit code of the program, see doctor/docs/doctor.md

const byId = (id) => document.getElementById(id);

function readableBytes(bytes) {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(bytes < 1e6 ? 2 : 1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}

// A word of a command line, for people to copy.
const quoted = (word) => /^[\w.,:=@%+-]+$/.test(word) ? word : `'${word.replaceAll('\'', '\'\\\'\'')}'`;

const reportNameOf = (name) => `${name.replace(/\.(gz|zst)$/i, '').replace(/\.json$/i, '')}.html`;

// Files of different folders may have the same name.
function withUniqueNames(files) {
  const counts = new Map();
  return files.map((file) => {
    const count = (counts.get(file.name) ?? 0) + 1;
    counts.set(file.name, count);
    return {name: count === 1 ? file.name : `${file.name} (${count})`, file};
  });
}

async function compileProgram(base64) {
  const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

// What went wrong, for people: a title, a sentence, and a command if one helps.
class Problem extends Error {
  constructor(title, text, advice = '') {
    super(text);
    this.title = title;
    this.advice = advice;
  }
}

const nativeCommand = (names) => {
  const options = names.length === 1 ? `--html ${quoted(reportNameOf(names[0]))}` : '--ranks';
  return `pip install pellucid-doctor\npellucid-doctor ${names.map(quoted).join(' ')} ${options}`;
};

const outOfMemory = (names, {memoryBytes}) => new Problem(
    'This trace needs more memory than a page can have',
    `${names.length === 1 ? 'The trace was' : 'The traces were'} not read to the end, because the browser refused more than the ` +
        `${readableBytes(memoryBytes)} in use. The native program has no such limit; install it with ` +
        '`pip install pellucid-doctor`, and run it on the same machine:',
    nativeCommand(names));

const unexpected = (names, failure) => new Problem(
    'The doctor has stopped unexpectedly',
    `This is an error of the page, not of your trace: ${failure}. Please report it with the name of your browser. The native ` +
        'program does not depend on the browser; install it with `pip install pellucid-doctor`:',
    nativeCommand(names));

// One run of the doctor in a worker of its own, which can be ended at any time.
class Run {
  constructor(address, program, files, showProgress) {
    this.names = files.map(({name}) => name);
    this.isCancelled = false;
    this.worker = new Worker(address);
    this.result = new Promise((resolve, reject) => {
      this.worker.onerror = (event) => reject(unexpected(this.names, event.message));
      this.worker.onmessage = ({data}) => {
        if (data.result) {
          resolve(data.result);
        } else if (data.failure) {
          reject(unexpected(this.names, data.failure));
        } else {
          showProgress(data.doneBytes);
        }
      };
    });
    const options = files.length === 1 ? ['--html', kReportName] : ['--ranks'];
    program.then((module) => this.worker.postMessage({module, files, words: [...options, '--', ...this.names]}))
        .catch((error) => this.worker.onerror({message: String(error)}));
  }
  end() {
    this.worker.terminate();
  }
}

class Page {
  constructor({program, worker}) {
    this.program = compileProgram(program);
    this.program.catch(() => {});  // a run reports it
    this.workerAddress = URL.createObjectURL(new Blob([worker], {type: 'text/javascript'}));
    this.run = null;
    this.addresses = [];  // of what is shown, to be freed
    this.listen();
  }

  listen() {
    const input = byId('files');
    input.addEventListener('change', () => {
      const files = [...input.files];
      input.value = '';  // the same file may be chosen again
      this.examine(files);
    });
    let depth = 0;  // dragenter and dragleave come for every element
    const drag = (change) => (event) => {
      event.preventDefault();
      depth = Math.max(0, depth + change);
      document.body.classList.toggle('dragging', depth > 0);
    };
    addEventListener('dragenter', drag(1));
    addEventListener('dragleave', drag(-1));
    addEventListener('dragover', (event) => event.preventDefault());
    addEventListener('drop', (event) => {
      drag(-Infinity)(event);
      this.examine([...event.dataTransfer.files]);
    });
    byId('cancel').addEventListener('click', () => this.cancel());
    byId('again').addEventListener('click', () => this.start());
    addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && this.run) this.cancel();
    });
  }

  show(state) {
    document.body.dataset.state = state;
    const isResult = state === 'report' || state === 'text';
    byId('start').hidden = isResult;
    byId('result').hidden = !isResult;
    byId('choose').hidden = state === 'reading';
    byId('reading').hidden = state !== 'reading';
    byId('problem').hidden = state !== 'problem';
  }

  // Ends what is running and frees what was shown.
  clear() {
    this.run?.end();
    this.run = null;
    byId('report').hidden = byId('text').hidden = byId('warning').hidden = true;
    byId('report').removeAttribute('src');
    byId('text').textContent = '';
    this.addresses.forEach((address) => URL.revokeObjectURL(address));
    this.addresses = [];
  }
  start() {
    this.clear();
    document.title = 'Pellucid doctor';
    this.show('waiting');
    byId('files').focus();
  }
  cancel() {
    if (this.run) this.start();
  }

  async examine(chosen) {
    if (chosen.length === 0) return;
    this.clear();
    const files = withUniqueNames(chosen);
    const allBytes = chosen.reduce((sum, file) => sum + file.size, 0);
    const begin = performance.now();
    this.showReading(files, allBytes);
    const run = new Run(this.workerAddress, this.program, files, (doneBytes) => this.showProgress(doneBytes, allBytes));
    this.run = run;
    try {
      const result = await run.result;
      const seconds = (performance.now() - begin) / 1000;
      const stderr = (await result.stderr.text()).trimEnd();
      if (run !== this.run) return;
      if (result.failedAllocationBytes > 0) throw outOfMemory(run.names, result);
      if (result.code !== 0 && result.code !== kReadInPart) throw new Problem('The trace cannot be read', stderr);
      await this.showResult(run.names, result, {stderr, allBytes, seconds});
    } catch (error) {
      if (run === this.run) this.showProblem(error);
    } finally {
      run.end();
      if (run === this.run) this.run = null;
    }
  }

  showReading(files, allBytes) {
    byId('reading-name').textContent = files.length === 1 ? files[0].name : `${files.length} ranks`;
    this.showProgress(0, allBytes);
    this.show('reading');
    byId('cancel').focus();
  }
  showProgress(doneBytes, allBytes) {
    const bar = byId('progress');
    if (doneBytes < allBytes) {
      bar.value = doneBytes / allBytes;
      byId('reading-bytes').textContent = `${readableBytes(doneBytes)} of ${readableBytes(allBytes)} read`;
    } else {  // the analyses do not say how far they are
      bar.removeAttribute('value');
      byId('reading-bytes').textContent = `${readableBytes(allBytes)} read, diagnosing`;
    }
  }

  async showResult(names, {stdout, written}, {stderr, allBytes, seconds}) {
    const name = names.length === 1 ? names[0] : `${names.length} ranks`;
    const report = written.get(kReportName);
    const save = byId('save');
    save.href = this.addressOf(report ?? stdout);
    save.download = report ? reportNameOf(names[0]) : 'ranks.txt';
    save.textContent = report ? 'Save the report' : 'Save the text';
    byId('summary').textContent = `${name}: ${readableBytes(allBytes)} in ${seconds.toFixed(1)} s`;
    document.title = `${name} – Pellucid doctor`;
    byId('warning').textContent = stderr;
    byId('warning').hidden = stderr === '';
    if (report) {
      byId('report').src = this.addressOf(report);
    } else {
      byId('text').textContent = await stdout.text();
    }
    byId('report').hidden = !report;
    byId('text').hidden = Boolean(report);
    this.show(report ? 'report' : 'text');
    byId(report ? 'report' : 'text').focus();
  }
  addressOf(blob) {
    const address = URL.createObjectURL(blob);
    this.addresses.push(address);
    return address;
  }

  showProblem(error) {
    byId('problem-title').textContent = error.title ?? 'The doctor has stopped unexpectedly';
    byId('problem-text').textContent = error.message;
    byId('problem-advice').textContent = error.advice ?? '';
    byId('problem-advice').hidden = !error.advice;
    this.show('problem');
    byId('files').focus();
  }
}

const startPage = (parts) => new Page(parts);
