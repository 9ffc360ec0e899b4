// What is known of a span or gap: in the tip under the mouse, and in the panel next to the timeline.

const kMaxListed = 10;

const kCategoryNames = {
  cpu_op: 'op',
  user_annotation: 'annotation',
  python_function: 'Python function',
  cuda_runtime: 'call of the runtime',
  cuda_driver: 'call of the driver',
  kernel: 'kernel',
  gpu_memcpy: 'copy',
  gpu_memset: 'fill',
  overhead: 'overhead',
};

const kCauseTexts = {
  dispatch: 'The host had not yet launched the next kernel or copy.',
  sync: 'The host had waited for the device, and so let it run dry.',
  input: 'The host was loading data.',
  guards: 'The host was looking for, or making, compiled code.',
  allocation: 'The host was asking the driver for memory.',
  profiler: 'The host was busy with the profiler itself.',
  latency: 'It was launched in time and began after the usual launch latency.',
  dependency: 'The next kernel or copy waited for another stream.',
  'no launch': 'The launch of the next kernel or copy is not in the trace.',
  unexplained:
      'The next kernel or copy had been launched long before; nothing in the trace shows what delayed it.',
};

// The style that has the colour of a cause of idle time, by its name.
const causeColour = (cause) => `--cause-${cause.replaceAll(' ', '-')}`;

function tipOf(trace, item) {
  if (item.isGap) {
    const gap = trace.gaps[item.index];
    return [
      el('b', {}, `idle: ${trace.causes[gap.cause]}`), ` ${readableNs(gap.duration)}`,
      gap.blame >= 0 ? el('small', {}, trace.title(gap.blame)) : null
    ];
  }
  const span = item.index;
  const kind = trace.kind(span);
  const ops = trace.opsOf(span).filter((op) => op !== span);
  return [
    el('b', {}, kind.title || kind.name.slice(0, 160)), ` ${readableNs(trace.durations[span])}`,
    kind.title && kind.title !== kind.name ? el('small', {class: 'mono'}, kind.name.slice(0, 160)) : null,
    ops.length > 0 ? el('small', {}, ops.map((op) => trace.name(op)).join(' › ')) : null
  ];
}

function detailsOf(trace, item, choose) {
  if (item === null) {
    return [
      el('h2', {}, 'Nothing is selected'),
      el('p', {class: 'note'},
         'Click a span, or an idle gap. The wheel zooms, dragging moves; ? shows all keys.')
    ];
  }
  const link = (span) => el('button', {class: 'link', onclick: () => choose(span)}, trace.title(span));
  const when = (begin, duration) => [['duration', readableNs(duration)], ['begins after', readableNs(begin)]];
  const list = (facts) =>
      el('dl', {}, facts.map(([label, value]) => [el('dt', {}, label), el('dd', {}, value)]));
  if (item.isGap) {
    const gap = trace.gaps[item.index];
    const cause = trace.causes[gap.cause];
    return [
      el('h2', {}, `Idle: ${cause}`), el('p', {}, kCauseTexts[cause] || ''),
      list(when(gap.begin, gap.duration)),
      gap.blame >= 0 ? [el('h3', {}, 'Blamed on'), el('p', {}, link(gap.blame))] : null,
      gap.next >= 0 ? [el('h3', {}, 'Then ran'), el('p', {}, link(gap.next))] : null
    ].flat();
  }
  const span = item.index, kind = trace.kind(span), lane = trace.lanes[trace.laneOf[span]];
  const facts = when(trace.begins[span], trace.durations[span]);
  const category = kCategoryNames[kind.category] || kind.category;
  const isTold = kind.family && kind.family !== 'unknown' && kind.family !== category;
  facts.unshift(['what', isTold ? `${category}, ${kind.family}` : category]);
  facts.push(['on', lane.isDevice ? `device ${lane.device}, ${lane.name}` : lane.name]);
  const parts = [el('h2', {}, kind.title || kind.name)];
  if (kind.title && kind.title !== kind.name) parts.push(el('p', {class: 'mono'}, kind.name));
  const launch = trace.launchOf[span];
  if (launch >= 0) facts.push(['in queue', readableNs(Math.max(0, trace.begins[span] - trace.end(launch)))]);
  parts.push(list(facts));
  if (trace.shapes.has(span))
    parts.push(
        el('h3', {}, 'Shapes of inputs'), el('p', {class: 'mono'}, trace.texts[trace.shapes.get(span)]));
  if (launch >= 0)
    parts.push(el('h3', {}, 'Asked for by'), el('p', {}, link(launch)));
  else if (trace.isActivity(span))
    parts.push(el('p', {class: 'note'}, 'Its launch is not in the trace.'));
  const ops = trace.opsOf(span).filter((op) => op !== span);
  if (ops.length > 0)
    parts.push(el('h3', {}, 'Ops around it'), el('ul', {}, ops.map((op) => el('li', {}, link(op)))));
  const activities = trace.isActivity(span) ? [] : trace.launchesIn(span);
  if (activities.length > 0) {
    const total = activities.reduce((sum, [, activity]) => sum + trace.durations[activity], 0);
    parts.push(
        el('h3', {},
           `Launched ${
               activities.length === 1 ?
                   '1 activity' :
                   `${grouped(activities.length)} activities`}, ${readableNs(total)} in all`),
        el('ul', {},
           activities.slice(0, kMaxListed)
               .map(
                   ([, activity]) =>
                       el('li', {}, link(activity), ` ${readableNs(trace.durations[activity])}`))));
    if (activities.length > kMaxListed)
      parts.push(el('p', {class: 'note'}, `and ${grouped(activities.length - kMaxListed)} more`));
  }
  const stack = trace.stackOf(span).filter((frame) => frame !== kind.name);
  if (stack.length > 0) {
    parts.push(
        el('h3', {}, 'Stack, the innermost first'),
        el('ul', {class: 'mono'}, stack.slice(0, 30).map((frame) => el('li', {}, frame))));
  }
  return parts;
}
