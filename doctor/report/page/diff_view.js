// Two steps side by side: what their difference is made of, and which ops and kernels changed.

const kPartColours = {
  kernels: '--busy',
  communication: '--alone',
  dispatch: '--cause-dispatch',
  sync: '--cause-sync',
  input: '--cause-input',
  other: '--activity',
};

const tableOf = (finding, key) => finding.tables.find((table) => table.key === key);

// Rows of a table as objects, by the keys of its columns.
const recordsOf = (table) =>
    table.rows.map((row) => Object.fromEntries(table.columns.map(([key], i) => [key, row[i]])));

// The parts of both steps, and the sum of them.
function partsOf(finding) {
  const records = recordsOf(tableOf(finding, 'parts'));
  return {parts: records.slice(0, -1), all: records[records.length - 1]};
}

class DiffView {
  constructor(findings, root) {
    const sections = findings.map((finding) => this.section(finding));
    root.append(el('div', {class: 'diff'}, sections));
  }

  section(finding) {
    const parts = tableOf(finding, 'parts');
    const tables = finding.tables.filter((table) => table !== parts && table.rows.length > 0);
    return el(
        'section', {class: 'finding', id: `finding-${finding.key}`}, el('h2', {}, finding.title),
        finding.sentences.map((sentence) => el('p', {}, glued(sentence))),
        finding.facts.length > 0 ? figures(finding.facts) : null, parts ? this.steps(finding, parts) : null,
        tables.map(
            (table) => new DataTable(table, table.key === 'kernels' ? {choices: 'change'} : {}).element));
  }

  // Both steps as bars of one scale, then each part with what it adds to the difference.
  steps(finding, table) {
    const {parts, all} = partsOf(finding);
    const labels = Object.fromEntries(table.columns.map(([key, label]) => [key, label]));
    const longest = Math.max(all.before_ns, all.after_ns, 1);
    const colour = (part) => `background:var(${kPartColours[part.key]})`;
    const bar = (key) => {
      const text = `${labels[key]}: ${readableNs(all[key])}`;
      const pieces =
          parts.filter((part) => part[key] > 0).map((part) => el('span', {
                                                      style: `flex:${part[key]};${colour(part)}`,
                                                      title: `${part.part}: ${readableNs(part[key])}`,
                                                    }));
      const shares =
          el('div',
             {class: 'shares', role: 'img', 'aria-label': text, style: `width:${100 * all[key] / longest}%`},
             pieces);
      return [
        el('span', {}, labels[key]), el('div', {}, shares), el('b', {class: 'number'}, readableNs(all[key]))
      ];
    };
    const most = Math.max(...parts.map((part) => Math.abs(part.difference_ns)), 1);
    const towards = (ns) => {  // to the left: less time than before
      const width = 50 * Math.abs(ns) / most;
      return el(
          'i',
          {class: ns < 0 ? 'less' : 'more', style: `width:${width}%;${ns < 0 ? `right:50%` : `left:50%`}`});
    };
    const row = (part, isAll) => el(
        'tr', {class: isAll ? 'all' : ''},
        el('th', {scope: 'row'}, isAll ? null : el('i', {class: 'swatch', style: colour(part)}), part.part),
        el('td', {class: 'number'}, readableNs(part.before_ns)),
        el('td', {class: 'number'}, readableNs(part.after_ns)),
        el('td', {class: 'number'}, readableNs(part.difference_ns)),
        el('td', {class: 'towards', 'aria-hidden': 'true'},
           isAll || part.difference_ns === 0 ? null : towards(part.difference_ns)));
    const head = (text, isNumber) => el('th', {scope: 'col', class: isNumber ? 'number' : ''}, text);
    return [
      el('div', {class: 'two-steps'}, bar('before_ns'), bar('after_ns')),
      el('div', {class: 'table'}, el('div', {class: 'table-head'}, el('h3', {}, table.title)),
         el('div', {class: 'scroll'},
            el('table', {class: 'parts'},
               el('thead', {},
                  el('tr', {}, head(labels.part), head(labels.before_ns, true), head(labels.after_ns, true),
                     head(labels.difference_ns, true), head('less time | more time'))),
               el('tbody', {}, parts.map((part) => row(part, false)), row(all, true)))))
    ];
  }
}
