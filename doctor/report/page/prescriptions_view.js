// What to do, as a list: the action, what it saves, how, and where.

function prescriptionsList(finding) {
  const [table] = finding.tables;
  const at = (row, key) => row[table.columns.findIndex(([name]) => name === key)];
  return el('ol', {class: 'prescriptions'}, table.rows.map((row) => {
    const count = at(row, 'count');
    const where = at(row, 'where');
    const needs = at(row, 'needs');
    const place = [
      where === null ? '' : `at ${where}${count > 1 ? `, ${count.toLocaleString('en-US')} times` : ''}`,
      needs === null ? '' : `if ${needs}`
    ];
    return el(
        'li', {}, el('p', {class: 'action'}, glued(at(row, 'action'))),
        el('p', {class: 'gain'},
           el('span', {class: 'gain-bar', role: 'presentation'},
              el('i', {style: `width:${Math.min(100, at(row, 'saved'))}%`})),
           glued(at(row, 'gain'))),
        el('p', {class: 'how'}, el('code', {}, at(row, 'how'))),
        el('p', {class: 'note'}, place.filter((text) => text !== '').join('; ')));
  }));
}
