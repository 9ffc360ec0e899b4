// Memory over time, as bars from one point of the curve to the next: what is allocated, before what is
// reserved.

// The points of a table `curve`: [at, allocated, reserved], the last of which may be null.
function memoryBars(rows) {
  const top = Math.max(...rows.map(([, allocated, reserved]) => Math.max(allocated, reserved || 0)));
  const begin = rows[0][0], end = rows[rows.length - 1][0];
  const span = Math.max(1, end - begin) * (1 + 1 / rows.length);  // the last point has a bar, too
  const left = (at) => 100 * (at - begin) / span;
  const height = (bytes) => Math.max(0, 100 * (bytes || 0) / Math.max(1, top));
  const bars = rows.map(([at, allocated, reserved], i) => ({
                          left: left(at),
                          width: (i + 1 < rows.length ? left(rows[i + 1][0]) : 100) - left(at),
                          allocated: height(allocated),
                          reserved: height(reserved),
                        }));
  return {top, begin, end, bars};
}

function memoryCurve(table) {
  const {top, begin, end, bars} = memoryBars(table.rows);
  const piece = (kind, bar, i) => {
    const [at, allocated, reserved] = table.rows[i];
    const more = reserved === null ? '' : `, ${readable(reserved, 'bytes')} reserved`;
    return el('span', {
      class: kind,
      style: `left:${bar.left}%;width:calc(${bar.width}% + 1px);height:${bar[kind]}%`,
      title: `${readableNs(at)}: ${readable(allocated, 'bytes')} allocated${more}`,
    });
  };
  const peak = Math.max(...table.rows.map(([, allocated]) => allocated));
  return el(
      'figure', {class: 'memory-curve'}, el('figcaption', {}, el('h3', {}, table.title)),
      el('div', {class: 'memory-top'}, readable(top, 'bytes')),
      el('div', {
        class: 'memory-bars',
        role: 'img',
        'aria-label': `${table.title}: at most ${readable(peak, 'bytes')} allocated`
      },
         bars.map((bar, i) => piece('reserved', bar, i)), bars.map((bar, i) => piece('allocated', bar, i))),
      el('div', {class: 'memory-times'}, el('span', {}, readableNs(begin)), el('span', {}, readableNs(end))),
      el('ul', {class: 'legend'}, el('li', {}, el('i', {class: 'allocated'}), 'allocated'),
         el('li', {}, el('i', {class: 'reserved'}), 'reserved')));
}

// A table without labels is a picture's data.
const isCurve = (table) => table.key === 'curve' && table.columns.every(([, label]) => label === '');
