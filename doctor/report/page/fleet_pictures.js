// Pictures of many jobs.

const swatched = (colour, text) => el('li', {}, el('i', {style: `background:${colour}`}), text);

// A bar for each job: computing, exposed collectives, and idle time by cause.
function jobShares(table) {
  const kinds = table.columns.slice(2).map(([key], i) => ({
                                             key,
                                             at: i + 2,
                                             colour: i === 0 ? 'var(--busy)' :
                                                 i === 1     ? 'var(--alone)' :
                                                               `var(${causeColour(key)})`,
                                             name: i < 2 ? key : `idle, ${key}`,
                                           }));
  const used = kinds.filter(({at}) => table.rows.some((row) => row[at] > 0));
  const bars = table.rows.flatMap((row) => {
    const total = kinds.reduce((sum, {at}) => sum + row[at], 0);
    const percent = ({at}) => `${(100 * row[at] / total).toFixed(1)} %`;
    const parts = used.filter(({at}) => row[at] > 0);
    const pieces = parts.map((kind) => el('span', {
                               style: `width:${100 * row[kind.at] / total}%;background:${kind.colour}`,
                               title: `${kind.name}: ${readableNs(row[kind.at])}, ${percent(kind)}`,
                             }));
    const label = `${row[0]}, ${row[1]}: ${parts.map((kind) => `${kind.name} ${percent(kind)}`).join(', ')}`;
    return [
      el('span', {class: 'clip', title: row[1]}, `${row[0].slice(5)} ${row[1]}`),
      el('div', {class: 'shares', role: 'img', 'aria-label': label}, pieces)
    ];
  });
  return el(
      'figure', {class: 'job-shares'}, el('figcaption', {}, el('h3', {}, table.title)),
      el('ul', {class: 'legend'}, used.map(({colour, name}) => swatched(colour, name))),
      el('div', {class: 'job-bars'}, bars));
}

// For each job two rows of bars, one for each commit in the order of time; those that changed the number are
// marked.
function commitCounts(table) {
  const jobs = new Map();
  for (const commit of table.rows) jobs.set(commit[0], [...(jobs.get(commit[0]) || []), commit]);
  const name = (commit) => commit[1] || '(no commit)';
  const row = (commits, label, at) => {
    const most = Math.max(...commits.map((commit) => commit[at] || 0), 1);
    const bars = commits.map((commit, i) => {
      const before = i === 0 ? commit[at] : commits[i - 1][at];
      const isChange = commit[at] !== before;
      const text = `${name(commit)}, ${commit[2]}: ${readable(commit[at], 'count')} ${label}` +
          (isChange ? `, before it ${readable(before, 'count')}` : '');
      return el(
          'span', {title: text},
          el('i', {class: isChange ? 'changed' : '', style: `height:${100 * (commit[at] || 0) / most}%`}));
    });
    const last = readable(commits[commits.length - 1][at], 'count');
    return [
      el('span', {}, label),
      el('div', {
        class: 'columns',
        role: 'img',
        'aria-label': `${commits[0][0]}: ${label} of a step, ${last} in the end`
      },
         bars),
      el('b', {class: 'number'}, last)
    ];
  };
  const end = (commit) => el('span', {}, `${name(commit)}, ${commit[2]}`);
  const pictures = [...jobs].map(
      ([job, commits]) => el(
          'div', {class: 'commit-rows'}, el('b', {class: 'job'}, job), row(commits, 'kernels', 3),
          row(commits, 'syncs', 4), el('span'),
          el('div', {class: 'memory-times'}, end(commits[0]), end(commits[commits.length - 1])), el('span')));
  return el(
      'figure', {class: 'commit-counts'}, el('figcaption', {}, el('h3', {}, table.title)), pictures,
      el('ul', {class: 'legend'}, swatched('var(--busy)', 'as in the commit before'),
         swatched('var(--mark)', 'changed')));
}

const kPictures = {
  job_shares: jobShares,
  commit_counts: commitCounts,
};
const isPicture = (table) => isCurve(table) || table.key in kPictures;
const pictureOf = (table) => isCurve(table) ? memoryCurve(table) : kPictures[table.key](table);
