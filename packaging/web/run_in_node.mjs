// Runs the doctor as WebAssembly without a browser, on the same wasi.js as the page:
//
//   node run_in_node.mjs pellucid-doctor.wasm WORDS...
//
// Files are read in blocks, and written as the native program does; the standard input must be a file, too. PELLUCID_WASM_FIGURES=1 adds a line with time and memory.
import fs from 'node:fs';
import process from 'node:process';
import vm from 'node:vm';

const runDoctor = vm.runInThisContext(fs.readFileSync(new URL('wasi.js', import.meta.url), 'utf8') + '\nrunDoctor;');

function openFile(path) {
  const file = path === '-' ? 0 : fs.openSync(path);
  return {
    size: fs.fstatSync(file).size,
    read: (begin, end) => {
      const bytes = new Uint8Array(end - begin);
      return bytes.subarray(0, fs.readSync(file, bytes, 0, bytes.length, begin));
    },
  };
}

function writeAll(file, parts) {
  for (const part of parts) {
    for (let at = 0; at < part.length;) {
      try {
        at += fs.writeSync(file, part, at);
      } catch (error) {
        if (error.code !== 'EAGAIN') throw error;  // a pipe that is full
      }
    }
  }
}

const [program, ...words] = process.argv.slice(2);
// The program's current folder is the root: libc takes the first slash off a path.
const nameOf = (path) => path.replace(/^\/+/, '');
const paths = words.filter((word) => word === '-' || (fs.existsSync(word) && fs.statSync(word).isFile()));
const outputs = words.filter((word, i) => words[i - 1] === '--html');
const sources = new Map(paths.filter((path) => !outputs.includes(path)).map((path) => [nameOf(path), openFile(path)]));
const module = new WebAssembly.Module(fs.readFileSync(program));
const begin = performance.now();
const result = runDoctor(module, {words, sources});
const seconds = (performance.now() - begin) / 1000;
for (const [name, parts] of result.files) {
  const file = fs.openSync(outputs.find((path) => nameOf(path) === name) ?? name, 'w');
  writeAll(file, parts);
  fs.closeSync(file);
}
writeAll(2, result.stderr);
writeAll(1, result.stdout);
if (process.env.PELLUCID_WASM_FIGURES) {
  writeAll(2, [Buffer.from(`${seconds.toFixed(2)} s, ${(result.memoryBytes / 1e6).toFixed(0)} MB of memory\n`)]);
}
process.exitCode = result.code;
