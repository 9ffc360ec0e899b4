// What is known of one kernel: the panel next to the drawing.

const kFewAlike = 60;  // bars of kernels that are alike

const perSecond = (bytes, ns) => readable(1e9 * bytes / ns, 'bytes_per_second');

function valueLine(value, ...more) {
  return el(
      'li', {}, el('code', {}, value.name === '' ? 'inside of the call' : value.name), ' ',
      el('code', {}, value.type),
      value.bytes === null || value.bytes === undefined ? null : ` ${readable(value.bytes, 'bytes')}`, more);
}

// Two bars, predicted and measured, on one scale.
function timeBars(kernel) {
  const times = [['measured', kernel.measured_ns, 'now'], ['predicted', kernel.predicted_ns, '']].filter(
      ([, ns]) => ns > 0);
  if (times.length === 0) return null;
  const most = Math.max(...times.map(([, ns]) => ns));
  return el(
      'div', {class: 'time-bars'},
      times.map(
          ([label, ns, name]) =>
              [el('span', {}, label),
               el('span', {class: 'time-bar'}, el('i', {class: name, style: `width:${100 * ns / most}%`})),
               el('b', {}, readableNs(ns))]));
}

// One bar for each kernel of a unit, such as one of each layer. A press selects it.
function alikeBars(unit, kernel, graph, select) {
  const most = Math.max(...unit.kernels.map((each) => graph.ns(each)), 1);
  const step = (by) => () => {
    const at = unit.kernels.indexOf(kernel) + by;
    if (unit.kernels[at] !== undefined) select(unit.kernels[at].index);
  };
  const at = unit.kernels.indexOf(kernel);
  const bars = !graph.isMeasured || unit.kernels.length > kFewAlike ?
      null :
      el('div', {class: 'alike', 'aria-hidden': 'true'},
         unit.kernels.map((each) => el('i', {
                            class: each === kernel ? 'now' : '',
                            style: `height:${Math.max(4, 100 * graph.ns(each) / most)}%`,
                            title: `kernel ${each.number}: ${readableNs(graph.ns(each))}`,
                          })));
  return el(
      'div', {},
      el('div', {class: 'stepper'},
         el('button', {onclick: step(-1), 'aria-disabled': String(at === 0), 'aria-label': 'The one before'},
            '‹'),
         el('span', {'aria-live': 'polite'}, `${at + 1} of ${unit.kernels.length} that are alike`),
         el('button', {
           onclick: step(1),
           'aria-disabled': String(at + 1 === unit.kernels.length),
           'aria-label': 'The next one'
         },
            '›')),
      bars);
}

function detailsOf(kernel, unit, graph, select) {
  const toKernel = (index) =>
      el('button', {class: 'link', onclick: () => select(index)}, `kernel ${graph.kernels[index].number}`);
  const origin = (read) => {
    const writers = [...new Set(writersOf(read).map(({kernel}) => kernel))];
    if (writers.length > 0)
      return [' from ', writers.flatMap((index, i) => [i === 0 ? '' : ', ', toKernel(index)])];
    return read.from === 'input' ? ` input ${read.number}` : read.from === 'constant' ? ' constant' : '';
  };
  const consumers = (value) =>
      [value.readBy.length === 0 ?
           null :
           [' to ', value.readBy.flatMap((index, i) => [i === 0 ? '' : ', ', toKernel(index)])],
       value.results === undefined ? null : ` ${value.results.map((i) => `result ${i}`).join(', ')}`,
  ];
  const moved = kernel.bytes_read + kernel.bytes_written;
  const facts = [
    ['kernel', `${kernel.number} of ${graph.kernels.length}, ${kernel.kind[0]}`],
    ['read', readable(kernel.bytes_read, 'bytes')],
    ['written', readable(kernel.bytes_written, 'bytes')],
    kernel.measured_ns > 0 ? ['moves', perSecond(moved, kernel.measured_ns)] : null,
    kernel.saved_bytes > 0 ? ['saved', `${readable(kernel.saved_bytes, 'bytes')} not written`] : null,
  ].filter((fact) => fact !== null);
  const list = (title, items) => items.length === 0 ? null : [el('h3', {}, title), el('ul', {}, items)];
  const {threads} = kernel;
  return [
    el('h2', {}, kernel.name.split(/(?<=_)/).flatMap((piece) => [piece, el('wbr')])),
    unit.kernels.length > 1 ? alikeBars(unit, kernel, graph, select) : null,
    timeBars(kernel),
    el('dl', {}, facts.map(([label, text]) => [el('dt', {}, label), el('dd', {}, glued(text))])),
    list(
        kernel.calls.length === 1 ? 'Call' : `${kernel.calls.length} calls`,
        kernel.calls.map(
            (call) => el('li', {class: 'call'}, el('code', {}, call.text), el('small', {}, call.location)))),
    list('Reads', kernel.reads.map((read) => valueLine(read, origin(read)))),
    list('Writes', kernel.writes.map((value) => valueLine(value, consumers(value)))),
    list(
        'Not written, because it is fused',
        kernel.saved.map((value) => valueLine(value, el('small', {}, `${value.formula} bytes`)))),
    kernel.reason === '' ? null : [el('h3', {}, 'Why this kernel'), el('p', {}, glued(kernel.reason))],
    threads.count === 0 ?
        null :
        [
          el('h3', {}, threads.count === 1 ? 'Runs on one thread' : `Runs on ${threads.count} threads`),
          el('p', {}, glued(threads.reason))
        ],
  ].flat(Infinity)
      .filter((part) => part !== null);
}
