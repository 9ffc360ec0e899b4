// Runs the doctor on files that the page was given. Follows wasi.js in one script, in a worker: reading waits for the disk here,
// and the page stays usable.
'use strict';

const kProgressMs = 100;  // between two messages

// Reads slices of the files, and reports the bytes that were read of all of them together.
class SlicedFiles {
  constructor(files, report) {
    this.reader = new FileReaderSync();
    this.report = report;
    this.allBytes = files.reduce((sum, {file}) => sum + file.size, 0);
    this.doneBytes = 0;
    this.lastReport = 0;
    this.sources = new Map(files.map(({name, file}) => [name, {size: file.size, read: (begin, end) => this.read(file, begin, end)}]));
  }
  read(file, begin, end) {
    const bytes = new Uint8Array(this.reader.readAsArrayBuffer(file.slice(begin, end)));
    this.doneBytes += bytes.length;
    const now = performance.now();
    if (now - this.lastReport > kProgressMs || this.doneBytes === this.allBytes) {
      this.report(this.doneBytes);
      this.lastReport = now;
    }
    return bytes;
  }
}

onmessage = ({data: {module, words, files}}) => {
  try {
    const {sources} = new SlicedFiles(files, (doneBytes) => postMessage({doneBytes}));
    const {stdout, stderr, files: written, ...result} = runDoctor(module, {words, sources});
    const blobs = new Map([...written].map(([name, parts]) => [name, new Blob(parts, {type: 'text/html'})]));
    postMessage({result: {...result, stdout: new Blob(stdout), stderr: new Blob(stderr), written: blobs}});
  } catch (error) {
    postMessage({failure: String(error)});
  }
};
