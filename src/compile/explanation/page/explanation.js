// Puts the page together: for each graph a sentence, the drawing, and tables; theme and keys.

const kKeys = [
  [
    'Everywhere',
    [['L', 'dark or light'], ['?', 'this list'], ['Tab, Shift + Tab', 'the next, and the one before']]
  ],
  ['Graph', [['↑ ↓', 'the kernel before, the next one'], ['Home, End', 'the first kernel, the last one']]],
  ['Tables', [['Enter, Space', 'all of a row; on a head: sort'], ['↑ ↓, Home, End', 'other rows']]],
];

const counted = (count, one, many) => `${grouped(count)}${kGlue}${count === 1 ? one : many || `${one}s`}`;
const bytes = (count) => readable(count, 'bytes');
const percentOf = (part, all) => `${fixed(100 * part / all, 1)}${kGlue}%`;

function sentenceOf(shown) {
  const {kernels, calls, read, written, saved, measured} = shown;
  const time = shown.isMeasured ? `${kernels.length === 1 ? ' takes' : ' take'} ${readableNs(measured)}` : '';
  const fused = saved === 0 ? '' : `, ${bytes(saved)} not written because of fusion`;
  return `${counted(kernels.length, 'kernel')} for ${counted(calls, 'call')} of ops${time}: ` +
      `${bytes(read)} read, ${bytes(written)} written${fused}.`;
}

function reasonsOf(shown) {
  const {graph, kernels} = shown, reasons = [];
  if (shown.isMeasured) {
    const longest = kernels.reduce((a, b) => b.measured_ns > a.measured_ns ? b : a);
    reasons.push(
        `The longest kernel is number ${longest.number}, ${longest.title}: ${
            readableNs(longest.measured_ns)}, ` +
        `${percentOf(longest.measured_ns, shown.measured)} of the time. Times are medians of ` +
        `${counted(graph.measured_calls, 'call')} under the profiler.`);
  } else if (kernels.length > 0) {
    const why = graph.not_measured || 'no times were measured: explain_measured() and add_times() add them';
    reasons.push(`${why[0].toUpperCase()}${why.slice(1)}.`);
  }
  const repeats = shown.frames.map(
      ({first, last, count}) => `${counted(last - first + 1, 'kernel')} ${grouped(count)}${kGlue}times`);
  if (repeats.length > 0)
    reasons.push(`Kernels that repeat, as those of layers do, are drawn once: ${repeats.join(', ')}.`);
  const guards = graph.guards.map((guard) => guard.words);
  const some = guards.slice(0, 3).join('; ') + (guards.length > 3 ? `; and ${guards.length - 3} more` : '');
  reasons.push(
      guards.length === 0 ? 'One compile serves all sizes.' :
                            `One compile serves all sizes within the guards: ${some}.`);
  return reasons;
}

// A bar of what takes the time, or what moves the bytes: by kinds of kernels.
function sharesOf(shown) {
  const weight = (kernel) => shown.isMeasured ? kernel.measured_ns : kernel.bytes_read + kernel.bytes_written;
  const all = sum(shown.kernels.map(weight));
  if (all === 0) return [];
  const kinds = kKinds
                    .map(([name, colour]) => {
                      const kernels = shown.kernels.filter((kernel) => kernel.kind[0] === name);
                      return {name, colour, count: kernels.length, sum: sum(kernels.map(weight))};
                    })
                    .filter((kind) => kind.sum > 0)
                    .sort((a, b) => b.sum - a.sum);
  const text = (kind) => shown.isMeasured ? readableNs(kind.sum) : bytes(kind.sum);
  return [
    el('div', {class: 'shares', role: 'img', 'aria-label': 'By kinds of kernels'},
       kinds.map((kind) => el('span', {
                   style: `width:${100 * kind.sum / all}%;background:var(${kind.colour})`,
                   title: `${kind.name}: ${text(kind)}, ${percentOf(kind.sum, all)}`
                 }))),
    el('ul', {class: 'legend'},
       kinds.map(
           (kind) =>
               el('li', {}, el('i', {style: `background:var(${kind.colour})`}), el('b', {}, kind.name),
                  ` ${percentOf(kind.sum, all)} `,
                  el('small', {}, `${text(kind)}, ${counted(kind.count, 'kernel')}`)))),
  ];
}

function verdictOf(shown) {
  const {graph} = shown;
  const first = (list, count) => list.length <= count ?
      list.join(', ') :
      `${list.slice(0, count).join(', ')}, and ${grouped(list.length - count)} more`;
  const sizes = first(graph.symbols.map(({name, value}) => `${name} = ${value}`), 8);
  return el(
      'div', {class: 'verdict'},
      el('p', {class: 'bound'},
         `graph(${first(graph.inputs.map((input) => input.type), 6)})${sizes === '' ? '' : ` at ${sizes}`}`),
      el('h1', {}, glued(sentenceOf(shown))),
      el('ul', {class: 'reasons'}, reasonsOf(shown).map((reason) => el('li', {}, glued(reason)))),
      sharesOf(shown), figures([
        ['kernels', shown.kernels.length, 'count'],
        ['calls of ops', shown.calls, 'count'],
        ['read', shown.read, 'bytes'],
        ['written', shown.written, 'bytes'],
        ['not written, by fusion', shown.saved, 'bytes'],
        ['memory at the peak', graph.peak_bytes_of_all, 'bytes'],
        ...(shown.isMeasured ?
                [
                  ['time in kernels', shown.measured, 'ns'],
                  [
                    'moved per second', 1e9 * (shown.read + shown.written) / shown.measured,
                    'bytes_per_second'
                  ]
                ] :
                []),
      ]));
}

const table = (key, title, columns, rows, options) => rows.length === 0 ?
    null :
    el('div', {class: 'wrapped'},
       new DataTable({key, title, columns, rows, count: rows.length}, options).element);

const kDrawingNote =
    'Kernels from top to bottom as they run. Below each one are the values that it writes; arrows ' +
    'lead to the kernels that read them. Select a kernel for its calls, times and reasons.';
const kListNote =
    'Kernels from top to bottom as they run. Select one for its calls, times and reasons, and for arrows ' +
    'from the kernels that wrote what it reads, and to those that read what it writes.';

function graphSection(shown) {
  if (shown.kernels.length === 0)
    return el('p', {}, 'It launches no kernel: its results are inputs, constants or views of them.');
  const details = el('aside', {class: 'details', 'aria-label': 'The selected kernel', tabindex: 0});
  const drawing = new Drawing(shown, details);
  return [
    el('p', {class: 'note'}, drawing.isList ? kListNote : kDrawingNote),
    el('div', {class: 'graph'},
       el('div', {class: drawing.isList ? 'canvas list' : 'canvas'}, drawing.element), details)
  ];
}

// A column without a label is part of a row that is opened, and of what the filter reads.
function kernelsSection(shown) {
  const columns = [
    ['number', '#', 'count'], ['named', 'ops: kernel', '', true],
    ...(shown.isMeasured ? [['share', 'time', 'percent'], ['measured_ns', 'measured', 'ns']] : []),
    ...(shown.isPredicted ? [['predicted_ns', 'predicted', 'ns']] : []), ['bytes_read', 'read', 'bytes'],
    ['bytes_written', 'written', 'bytes'], ['saved_bytes', 'not written', 'bytes'], ['threads', '', 'count'],
    ['where', '', ''], ['reason', '', '']
  ];
  const rows = shown.kernels.map((kernel) => {
    const cells = {
      ...kernel,
      named: `${kernel.title}: ${kernel.name}`,
      share: 100 * kernel.measured_ns / shown.measured,
      predicted_ns: kernel.predicted_ns || null,
      saved_bytes: kernel.saved_bytes || null,
      threads: kernel.threads.count || null,
      where: kernel.source
    };
    return columns.map(([key]) => cells[key]);
  });
  return table('kernels', 'kernels, as the profiler names them', columns, rows);
}

function recompileSection({graph}) {
  const inputs = graph.inputs.map(
      (input, i) =>
          el('li', {}, el('b', {}, `input ${i}`), ' ', el('code', {}, input.type),
             el('ul', {}, input.forecast.split('; ').map((part) => el('li', {}, glued(part))))));
  return [
    graph.inputs.length === 0 ? el('p', {}, 'It has no inputs: nothing compiles again.') :
                                el('ul', {class: 'inputs'}, inputs),
    graph.guards.length === 0 ?
        el('p', {}, 'No size is guarded.') :
        table(
            'guards', 'guards: a call that breaks one compiles again',
            [
              ['words', 'what must hold', ''], ['condition', 'condition', ''],
              ['source', 'needed by', '', true]
            ],
            graph.guards.map((guard) => [guard.words, guard.condition, guard.source])),
    table(
        'symbols', 'sizes', [['name', 'symbol', ''], ['words', 'is', '', true], ['value', 'here', 'count']],
        graph.symbols.map((symbol) => [symbol.name, symbol.words, symbol.value])),
  ];
}

const decisionsTable = (key, title, list) => table(
    key, title,
    [['pass', 'pass', ''], ['what', 'what', ''], ['reason', 'why', '', true], ['location', 'where', '']],
    list.map((decision) => [decision.pass, decision.what, decision.reason, decision.location]),
    {choices: new Set(list.map((decision) => decision.pass)).size > 1 ? 'pass' : null});

function weightsSection({graph}) {
  const weights = graph.packed_weights;
  const packed = weights.filter((weight) => weight.bytes > 0);
  return [
    el('p', {},
       glued(
           `${packed.length} of ${
               counted(weights.length, 'weight')} of matmuls are stored in the order in which ` +
           `kernels read them, in ${bytes(sum(packed.map((weight) => weight.bytes)))}.`)),
    table(
        'weights', 'right operands of matmuls',
        [
          ['name', 'value', ''], ['type', 'type', ''], ['bytes', 'packed', 'bytes'],
          ['since_call', 'since call', 'count'], ['reason', 'why not', '', true]
        ],
        weights.map(
            (weight) =>
                [weight.name, weight.type, weight.bytes || null, weight.since_call || null, weight.reason])),
  ];
}

const memorySection = ({graph}) => figures([
  ['at the peak, small tensors included', graph.peak_bytes_of_all, 'bytes'],
  ['that memory_stats() counts', graph.peak_bytes, 'bytes'],
  ['arena of intermediate results', graph.arena_bytes, 'bytes'],
  ['allocated for results', graph.result_bytes, 'bytes']
]);

function viewOf(graph, index) {
  const shown = new ShownGraph(graph);
  const sections =
      [
        ['graph', 'Graph', graphSection(shown)],
        ['kernels', 'Kernels', kernelsSection(shown)],
        ['recompile', 'What will recompile', recompileSection(shown)],
        [
          'not-fused', 'Not fused, and why',
          decisionsTable('not_fused', 'values that go through memory', graph.not_fused)
        ],
        ['decisions', 'Decisions', decisionsTable('decisions', 'what passes decided', graph.decisions)],
        ['weights', 'Packed weights', graph.packed_weights.length === 0 ? null : weightsSection(shown)],
        ['memory', 'Memory', memorySection(shown)],
      ].filter(([, , parts]) => parts !== null)
          .map(
              ([key, title, parts]) =>
                  el('section', {class: 'finding', id: `${key}-${index}`, tabindex: -1, 'data-title': title},
                     el('h2', {}, title), parts));
  return el(
      'section', {
        class: 'view',
        id: `view-graph-${index}`,
        role: 'tabpanel',
        tabindex: -1,
        'aria-label': `Graph ${index + 1}`
      },
      verdictOf(shown),
      el('div', {class: 'findings'}, contentsOf(sections, 'Sections'), el('div', {}, sections)));
}

function start() {
  const byId = (id) => document.getElementById(id);
  const json = (id) => JSON.parse(byId(id).textContent);
  const explanation = unpacked(json('data'), json('texts'));
  const {graphs} = explanation;
  byId('path').textContent = document.title.replace(/ – Pellucid$/, '');
  const views = graphs.map((_, i) => `graph-${i}`);
  byId('tabs').append(...views.map(
      (view, i) =>
          el('button', {role: 'tab', id: `tab-${view}`, 'aria-controls': `view-${view}`}, `Graph ${i + 1}`)));
  byId('tabs').hidden = views.length < 2;
  byId('main').replaceChildren(...graphs.map((graph, i) => viewOf(graph, i)));
  const show = (view) => {
    selectTab(views, view);
    scrollTo(0, 0);
  };
  if (views.length > 0) show(views[0]);
  setUpTabs(views, show);

  const toggleTheme = setUpTheme(byId('theme'), () => {});
  const keys = byId('keys');
  setUpKeys(keys, byId('help'), kKeys);
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
    if (event.target.matches('input[type=search], select')) return;  // they take letters
    if (event.key === '?')
      keys.showModal();
    else if (event.key.toLowerCase() === 'l')
      toggleTheme();
    else
      return;
    event.preventDefault();
  });
}

try {
  start();
} catch (error) {
  document.getElementById('main').append(
      el('p', {class: 'verdict failure'}, `This page could not be built: ${error.message}`));
  throw error;
}
