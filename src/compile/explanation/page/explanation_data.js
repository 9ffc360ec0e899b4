// A graph of the explanation as the page shows it: kinds of kernels, sums, consumers of values, and kernels
// that repeat, as those of a model's layers do.

// Texts that differ in numbers alone share one pattern: "7 3 12" is pattern 7 with its gaps filled by 3
// and 12. [4, ...] is an object with the keys of shape 4, [-1, ...] an array (../html.cc).
function unpacked(value, tables) {
  const [patterns, shapes] = tables;
  if (typeof value === 'string') {
    const [pattern, ...numbers] = value.split(' ');
    if (numbers.length === 0) return patterns[pattern];
    return patterns[pattern].split('\t').map((piece, i) => piece + (numbers[i] ?? '')).join('');
  }
  if (!Array.isArray(value)) return value;
  const [shape, ...packed] = value;
  const values = packed.map((each) => unpacked(each, tables));
  return shape < 0 ? values : Object.fromEntries(shapes[shape].map((key, i) => [key, values[i]]));
}

const kKinds = [
  // name, colour, ops; the first that a kernel computes decides
  ['attention', '--collective', /attention/],
  ['matmul', '--matmul', /^(mm|bmm|addmm|baddbmm|matmul|linear|mv|dot|addmv|outer|convolution.*|conv.*)$/],
  [
    'reduction', '--reduce',
    /norm|softmax|logsumexp|^(sum|mean|amax|amin|max|min|var|std|prod|argmax|argmin|all|any|cumsum|count.*)$|loss|cross_entropy|entropy/
  ],
  [
    'copy', '--move',
    /copy|^(cat|stack|embedding|index.*|gather|scatter.*|slice.*|fill.*|zero.*|full|arange|clone|select.*|contiguous|expand)$/
  ],
  ['elementwise', '--elementwise', /./],
];

// "%4, %5 = gelu(%3, 'tanh')" is gelu.
const opOf = (call) => (/^(?:[^=(]*= )?([\w:]+)[.\w]*\(/.exec(call.text) || [null, call.text])[1];
const kViewOps =
    /^(t|view|reshape|transpose|permute|expand|slice|select|squeeze|unsqueeze|as_strided|alias|detach|narrow|chunk|split|unbind)$/;

function kindOf(kernel) {
  const ops = kernel.calls.map(opOf);
  return kKinds.find(([, , pattern]) => ops.some((op) => pattern.test(op))) || kKinds[kKinds.length - 1];
}

// Ops in the order of their calls, without views: "2 × mm, gelu, mul".
function titleOf(kernel) {
  const counts = new Map();
  for (const call of kernel.calls) counts.set(opOf(call), (counts.get(opOf(call)) || 0) + 1);
  const shown = [...counts].filter(([op]) => !kViewOps.test(op));
  return (shown.length === 0 ? [...counts] : shown)
      .map(([op, count]) => count === 1 ? op : `${count}${kGlue}×${kGlue}${op}`)
      .join(', ');
}

// Where the user's code is: "model.cc:12, in layers.0.mlp". The path of ops inside of the call is left out.
function sourceOf(kernel) {
  const lines = new Map();
  for (const {location} of kernel.calls) {
    const [, line = '', module = ''] = /^(.*?:\d+|[^\s,]*).*?(?:, in (.*))?$/.exec(location);
    if (line === '') continue;
    if (!lines.has(line)) lines.set(line, new Set());
    if (module !== '') lines.get(line).add(module);
  }
  return [...lines]
      .map(([line, modules]) => modules.size === 0 ? line : `${line}, in ${commonModule([...modules])}`)
      .join('; ');
}

// Of layers.0.mlp, layers.0.mlp.gate and layers.0.mlp.up: layers.0.mlp.
function commonModule(modules) {
  if (modules.length === 0) return '';
  const paths = modules.map((module) => module.split('.'));
  let length = 0;
  while (paths.every((path) => length < path.length && path[length] === paths[0][length])) ++length;
  return length === 0 ? modules.join(', ') : paths[0].slice(0, length).join('.');
}

// Runs of kernels that are alike in a row: [{start, period, count}], in order and without overlap.
function repeatsOf(signatures) {
  const found = [];
  const search = (from, to) => {
    let best = null;
    for (let period = 1; 2 * period <= to - from; ++period) {
      for (let i = from; i + period < to;) {
        let equal = 0;
        while (i + equal + period < to && signatures[i + equal] === signatures[i + equal + period]) ++equal;
        const count = Math.floor(equal / period) + 1;
        const covered = count * period;
        if (count >= 3 && covered >= kMinRepeated && (best === null || covered > best.count * best.period))
          best = {start: i, period, count};
        i += equal + 1;
      }
    }
    if (best === null) return;
    search(from, best.start);
    found.push(best);
    search(best.start + best.period * best.count, to);
  };
  search(0, signatures.length);
  return found;
}
const kMinRepeated = 12;  // kernels; fewer are drawn one by one

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

// The kernels that wrote what is read, with the number of the output: several if each wrote a part.
const writersOf = (read) =>
    read.from === 'kernel' ? [...read.parts || [], {kernel: read.number, output: read.output}] : [];

class ShownGraph {
  constructor(graph) {
    this.graph = graph;
    this.kernels = graph.kernels.map((kernel, index) => ({
                                       ...kernel,
                                       index,
                                       number: index + 1,
                                       kind: kindOf(kernel),
                                       title: titleOf(kernel),
                                       source: sourceOf(kernel),
                                       saved_bytes: sum(kernel.saved.map((value) => value.bytes)),
                                     }));
    this.isMeasured = graph.measured_calls > 0 && this.kernels.length > 0;
    this.isPredicted = this.kernels.some((kernel) => kernel.predicted_ns > 0);
    this.read = sum(this.kernels.map((kernel) => kernel.bytes_read));
    this.written = sum(this.kernels.map((kernel) => kernel.bytes_written));
    this.saved = sum(this.kernels.map((kernel) => kernel.saved_bytes));
    this.measured = sum(this.kernels.map((kernel) => kernel.measured_ns));
    // A call of several kernels is one call.
    this.calls = new Set(this.kernels.flatMap((kernel) => kernel.calls.map((call) => call.text))).size;
    this.findConsumers();
    this.fold();
  }

  // The time of a kernel on this page: measured, or as predicted, or none.
  ns(kernel) {
    return this.isMeasured ? kernel.measured_ns : 0;
  }

  // producers: of each thing that is read, kernels and inputs, the writes with their consumers.
  findConsumers() {
    const {graph} = this;
    this.inputs = graph.inputs.map(
        (input, i) => ({name: `input ${i}`, type: input.type, bytes: null, readBy: [], input: i}));
    for (const kernel of this.kernels)
      for (const value of kernel.writes) value.readBy = [];
    for (const kernel of this.kernels) {
      for (const read of kernel.reads) {
        for (const value of this.sourcesOf(read)) {
          if (!value.readBy.includes(kernel.index)) value.readBy.push(kernel.index);
          value.bytes = value.bytes ?? read.bytes;
        }
      }
    }
    graph.results.forEach((result, i) => {
      for (const value of this.sourcesOf(result)) value.results = [...value.results || [], i];
    });
  }

  // The values that a read is of: what kernels wrote, or an input; none of constants and numbers.
  sourcesOf(read) {
    if (read.from === 'input') return [this.inputs[read.number]];
    return writersOf(read).map(({kernel, output}) => this.kernels[kernel].writes[output]);
  }

  // units: what is drawn from top to bottom, each with the kernels that it stands for.
  fold() {
    const masked = (text) => text.replace(/\d+/g, '');
    const signatures = this.kernels.map((kernel) => JSON.stringify([
      masked(kernel.name), kernel.title, kernel.bytes_read, kernel.bytes_written,
      kernel.reads.map((read) => [masked(read.type), read.from]),
      kernel.writes.map((value) => masked(value.type))
    ]));
    this.units = [];
    this.frames = [];
    this.unitOf = [];
    const add = (kernels) => {
      for (const kernel of kernels) this.unitOf[kernel.index] = this.units.length;
      this.units.push(
          {index: this.units.length, kernels, kernel: kernels[0], ns: sum(kernels.map((k) => this.ns(k)))});
    };
    let next = 0;
    for (const {
           start,
           period,
           count
         } of [...repeatsOf(signatures), {start: this.kernels.length, period: 0, count: 0}]) {
      for (; next < start; ++next) add([this.kernels[next]]);
      if (count === 0) break;
      this.frames.push({first: this.units.length, last: this.units.length + period - 1, count});
      for (let i = 0; i < period; ++i)
        add(Array.from({length: count}, (_, repeat) => this.kernels[start + i + repeat * period]));
      next = start + period * count;
    }
  }
}
