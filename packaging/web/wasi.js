// The system calls of WASI preview 1 that the doctor makes, answered for files that are read where they are and for output
// that stays in memory. Everything is synchronous, so it runs in a worker or in node.
'use strict';

// Error numbers and file types of WASI.
const kSuccess = 0, kBadDescriptor = 8, kIoError = 29, kNoSuchFile = 44, kNotSupported = 58, kCannotSeek = 70;
const kUnknownType = 0, kFolder = 3, kRegularFile = 4;
const kCreate = 1;  // a flag of path_open
const kRootDescriptor = 3;

const kInitialMemoryPages = 256;    // of 64 KB; toolchain.cmake links the program with as many
const kMaxMemoryPages = 64 * 1024;  // 4 GB, all that 32-bit addresses reach

// Thrown through the program's frames when it exits.
class ProgramExit {
  constructor(code) {
    this.code = code;
  }
}

// A file that is read in blocks: the last block stays, since the program asks for less.
class InputFile {
  // `source` has `size` and `read(begin, end)`, which returns a Uint8Array and may throw.
  constructor(source, blockBytes) {
    this.source = source;
    this.blockBytes = blockBytes;
    this.at = 0;
    this.block = new Uint8Array(0);
    this.blockBegin = 0;
  }

  // Copies what it has into `to`; returns the number of bytes, 0 at the end.
  read(to) {
    let done = 0;
    while (done < to.length && this.at < this.source.size) {
      let offset = this.at - this.blockBegin;
      if (offset < 0 || offset >= this.block.length) {
        this.block = this.source.read(this.at, Math.min(this.at + this.blockBytes, this.source.size));
        this.blockBegin = this.at;
        offset = 0;
        if (this.block.length === 0) break;  // it has become shorter
      }
      const part = this.block.subarray(offset, offset + to.length - done);
      to.set(part, done);
      done += part.length;
      this.at += part.length;
    }
    return done;
  }
}

class OutputFile {
  constructor() {
    this.parts = [];
  }
  write(bytes) {
    this.parts.push(bytes.slice());  // the program reuses its buffer
  }
}

class Wasi {
  // `words`: the command line. `sources`: name to source, see InputFile; '-' is the standard input. `memory`: a WebAssembly.Memory.
  constructor({words, sources, memory, blockBytes = 8 << 20}) {
    this.words = words.map((word) => new TextEncoder().encode(word + '\0'));
    this.sources = sources;
    this.memory = memory;
    this.blockBytes = blockBytes;
    this.outputs = new Map();  // name to OutputFile
    this.stdout = new OutputFile();
    this.stderr = new OutputFile();
    const stdin = new InputFile(sources.get('-') ?? {size: 0}, blockBytes);
    this.descriptors = [{input: stdin}, {output: this.stdout}, {output: this.stderr}, {isFolder: true}];
  }

  // Memory moves when it grows, so views live for one call. Addresses above 2 GB arrive as negative numbers.
  get view() {
    return new DataView(this.memory.buffer);
  }
  bytes(at, count) {
    return new Uint8Array(this.memory.buffer, at >>> 0, count >>> 0);
  }
  text(at, count) {
    return new TextDecoder().decode(this.bytes(at, count));
  }
  setUint32(at, value) {
    this.view.setUint32(at >>> 0, value, true);
  }
  setUint64(at, value) {
    this.view.setBigUint64(at >>> 0, BigInt(value), true);
  }
  vectors(at, count) {
    const view = this.view;
    return Array.from({length: count}, (_, i) => {
      const vector = (at >>> 0) + 8 * i;
      return this.bytes(view.getUint32(vector, true), view.getUint32(vector + 4, true));
    });
  }
  // The layout of argv: pointers at `at`, their texts from `to` on.
  setTexts(texts, at, to) {
    for (const text of texts) {
      this.setUint32(at, to >>> 0);
      this.bytes(to, text.length).set(text);
      at += 4;
      to += text.length;
    }
    return kSuccess;
  }
  setTextSizes(texts, countAt, bytesAt) {
    this.setUint32(countAt, texts.length);
    this.setUint32(bytesAt, texts.reduce((sum, text) => sum + text.length, 0));
    return kSuccess;
  }
  setFileStatus(at, type, size) {
    this.bytes(at, 64).fill(0);
    this.bytes(at + 16, 1)[0] = type;
    this.setUint64(at + 32, size);
    return kSuccess;
  }

  imports() {
    const of = (descriptor) => this.descriptors[descriptor] ?? {};
    const typeOf = (descriptor) => descriptor < kRootDescriptor ? kUnknownType : of(descriptor).isFolder ? kFolder : kRegularFile;
    return {
      args_get: (at, to) => this.setTexts(this.words, at, to),
      args_sizes_get: (countAt, bytesAt) => this.setTextSizes(this.words, countAt, bytesAt),
      environ_get: () => kSuccess,
      environ_sizes_get: (countAt, bytesAt) => this.setTextSizes([], countAt, bytesAt),
      clock_res_get: (_clock, at) => {
        this.setUint64(at, 1000);
        return kSuccess;
      },
      clock_time_get: (_clock, _precision, at) => {
        this.setUint64(at, Math.round(performance.now() * 1e6));
        return kSuccess;
      },
      fd_advise: () => kSuccess,
      fd_close: (descriptor) => {
        delete this.descriptors[descriptor];
        return kSuccess;
      },
      fd_fdstat_get: (descriptor, at) => {
        if (!this.descriptors[descriptor]) return kBadDescriptor;
        this.bytes(at, 24).fill(0);
        this.bytes(at, 1)[0] = typeOf(descriptor);
        this.bytes(at + 8, 16).fill(0xff);  // all rights
        return kSuccess;
      },
      fd_fdstat_set_flags: () => kSuccess,
      fd_filestat_get: (descriptor, at) => {
        if (!this.descriptors[descriptor]) return kBadDescriptor;
        return this.setFileStatus(at, typeOf(descriptor), of(descriptor).input?.source.size ?? 0);
      },
      fd_prestat_get: (descriptor, at) => {
        if (descriptor !== kRootDescriptor) return kBadDescriptor;
        this.setUint32(at, 0);
        this.setUint32(at + 4, 1);
        return kSuccess;
      },
      fd_prestat_dir_name: (_descriptor, at) => {
        this.bytes(at, 1)[0] = '/'.charCodeAt(0);
        return kSuccess;
      },
      fd_read: (descriptor, at, count, doneAt) => {
        const {input} = of(descriptor);
        if (!input) return kBadDescriptor;
        let done = 0;
        try {
          for (const vector of this.vectors(at, count)) done += input.read(vector);
        } catch {  // the file was changed or removed after it was chosen
          return kIoError;
        }
        this.setUint32(doneAt, done);
        return kSuccess;
      },
      fd_seek: (descriptor, by, from, at) => {
        const {input} = of(descriptor);
        if (!input || descriptor < kRootDescriptor) return kCannotSeek;
        input.at = Number(by) + [0, input.at, input.source.size][from];
        this.setUint64(at, input.at);
        return kSuccess;
      },
      fd_write: (descriptor, at, count, doneAt) => {
        const {output} = of(descriptor);
        if (!output) return kBadDescriptor;
        let done = 0;
        for (const vector of this.vectors(at, count)) {
          output.write(vector);
          done += vector.length;
        }
        this.setUint32(doneAt, done);
        return kSuccess;
      },
      path_filestat_get: (_folder, _flags, at, count, to) => {
        const source = this.sources.get(this.text(at, count));
        return source ? this.setFileStatus(to, kRegularFile, source.size) : kNoSuchFile;
      },
      path_open: (_folder, _lookup, at, count, flags, _rights, _inherited, _descriptorFlags, descriptorAt) => {
        const name = this.text(at, count), source = this.sources.get(name);
        let opened;
        if (source) {
          opened = {input: new InputFile(source, this.blockBytes)};
        } else if (flags & kCreate) {
          opened = {output: new OutputFile()};
          this.outputs.set(name, opened.output);
        } else {
          return kNoSuchFile;
        }
        this.setUint32(descriptorAt, this.descriptors.push(opened) - 1);
        return kSuccess;
      },
      poll_oneoff: () => kNotSupported,
      sched_yield: () => kSuccess,
      proc_exit: (code) => {
        throw new ProgramExit(code);
      },
    };
  }
}

// Runs the doctor. `sources` maps names to {size, read(begin, end)}. Returns the exit code, the parts of stdout, stderr and of
// the files that it wrote, the size of its memory, and the bytes of an allocation that failed, 0 if none did.
function runDoctor(module, {words, sources, maxMemoryPages = kMaxMemoryPages}) {
  const memory = new WebAssembly.Memory({initial: kInitialMemoryPages, maximum: maxMemoryPages});
  const wasi = new Wasi({words: ['pellucid-doctor', ...words], sources, memory});
  const instance = new WebAssembly.Instance(module, {env: {memory}, wasi_snapshot_preview1: wasi.imports()});
  let code = 0;
  try {
    instance.exports._start();
  } catch (error) {
    if (!(error instanceof ProgramExit)) throw error;
    code = error.code;
  }
  return {
    code,
    stdout: wasi.stdout.parts,
    stderr: wasi.stderr.parts,
    files: new Map([...wasi.outputs].map(([name, output]) => [name, output.parts])),
    memoryBytes: memory.buffer.byteLength,
    failedAllocationBytes: instance.exports.failed_allocation_bytes() >>> 0,
  };
}
