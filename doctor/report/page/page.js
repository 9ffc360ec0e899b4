// Puts the page together: verdict, tabs, theme, keys.

// Their tabs have the keys 1, 2, 3 …; a page of one trace has no diff.
const kViews = ['findings', 'timeline', 'what_if', 'diff'];

const kKeys = [
  [
    'Everywhere',
    [
      ['1 2 3 …', 'the views, from left to right'], ['L', 'dark or light'], ['?', 'this list'],
      ['Tab, Shift + Tab', 'the next, and the one before'], ['← →', 'on the name of a view: the next view']
    ]
  ],
  [
    'Timeline',
    [
      ['W S, + −, wheel', 'zoom in and out'], ['A D, ← →, drag', 'move in time'],
      ['↑ ↓, Shift + wheel', 'other rows'], ['Home, End', 'the beginning, the end'],
      ['click', 'select; on the name of a row: fold it'], [', .', 'select the previous or the next span'],
      ['J K', 'select in the row below, above'], ['G, Shift + G', 'select the next idle gap, the gap before'],
      ['Page Up, Page Down', 'the enclosing span or the launch; the span inside or the launched activity'],
      ['C', 'fold the row of the selection, or unfold it'], ['F', 'fit to the selection'],
      ['0', 'all of the trace'], ['/', 'search'], ['N, Shift + N', 'next match, match before'],
      ['Esc', 'select nothing']
    ]
  ],
  [
    'Tables',
    [
      ['Enter, Space', 'all of a row; on a head: sort'],
      ['↑ ↓, Home, End', 'other rows'],
    ]
  ],
  ['What if', [['← →', 'on a slider: less, more']]],
];

const colourOfShare = (label, isIdle) => isIdle ? `var(${causeColour(label)})` :
    label === 'busy' ? 'var(--busy)' :
                       'var(--alone)';

// A bar of where the time of the devices went: busy first, then idle time, the most first.
function sharesOf(diagnosis) {
  const total = diagnosis.shares.reduce((sum, [, ns]) => sum + ns, 0);
  if (total === 0) return [];
  const idle = diagnosis.shares.filter(([, , isIdle]) => isIdle).sort((a, b) => b[1] - a[1]);
  const shares = [...diagnosis.shares.filter(([, , isIdle]) => !isIdle), ...idle];
  const percent = (ns) => `${(100 * ns / total).toFixed(1)} %`;
  const pieces = shares.map(([label, ns, isIdle]) => el('span', {
                              style: `width:${100 * ns / total}%;background:${colourOfShare(label, isIdle)}`,
                              title: `${label}: ${readableNs(ns)}, ${percent(ns)}`,
                            }));
  const legend = shares.map(([label, ns, isIdle]) => {
    const name = isIdle ? `idle, ${label}` : label;
    const swatch = el('i', {style: `background:${colourOfShare(label, isIdle)}`});
    return el('li', {}, swatch, el('b', {}, name), ` ${percent(ns)} `, el('small', {}, readableNs(ns)));
  });
  const label = 'Where the time of the devices went';
  return [
    el('div', {class: 'shares', role: 'img', 'aria-label': label}, pieces),
    el('ul', {class: 'legend'}, legend)
  ];
}

function showVerdict(diagnosis, root) {
  const more = el('div', {class: 'more'});
  if (diagnosis.reasons.length > 0)
    more.append(el('ul', {class: 'reasons'}, diagnosis.reasons.map((reason) => el('li', {}, glued(reason)))));
  more.append(...sharesOf(diagnosis), figures(diagnosis.totals.filter(([, value]) => value !== 0)));
  if (diagnosis.devices.length > 0)
    more.append(el('p', {class: 'note'}, [...new Set(diagnosis.devices)].join(', ')));
  more.append(...diagnosis.notes.map((note) => el('p', {class: 'note'}, note)));
  root.append(el('p', {class: 'bound'}, diagnosis.bound), el('h1', {}, glued(diagnosis.sentence)), more);
}

const isDiff = (finding) => finding.key.startsWith('diff');

function showFindings(diagnoses, root) {
  const sections = [], parts = el('div');
  diagnoses.forEach((diagnosis, d) => {
    if (diagnoses.length > 1) parts.append(el('p', {class: 'note'}, diagnosis.path));
    for (const finding of diagnosis.findings) {
      if (isDiff(finding)) continue;
      const id = `finding-${d}-${finding.key}`;
      const section =
          el('section', {class: 'finding', id, tabindex: -1, 'data-title': finding.title},
             el('h2', {}, finding.title), finding.sentences.map((sentence) => el('p', {}, glued(sentence))),
             finding.key === 'prescriptions' ? prescriptionsList(finding) : [
               finding.facts.length > 0 ? figures(finding.facts) : null,
               finding.tables.filter((table) => table.rows.length > 0)
                   .map((table) => isPicture(table) ? pictureOf(table) : new DataTable(table).element)
             ]);
      sections.push(section);
      parts.append(section);
    }
  });
  root.append(el('div', {class: 'findings'}, contentsOf(sections, 'Findings'), parts));
}

function start() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const diagnosis = data.diagnoses[0];
  const byId = (id) => document.getElementById(id);
  const file = (path) => path.split(/[/\\]/).pop();
  const {path, before} = diagnosis;
  byId('path').textContent = before ? `${file(before)} → ${file(path)}` : path;
  byId('path').title = before ? `${before} → ${path}` : path;
  showVerdict(diagnosis, byId('verdict'));
  showFindings(data.diagnoses, byId('view-findings'));

  const changes = diagnosis.findings.filter(isDiff);
  // The page of many ranks has neither a timeline nor a replay.
  const isThere = {
    findings: true,
    timeline: data.timeline !== null,
    what_if: data.timeline !== null,
    diff: changes.length > 0
  };
  const views = kViews.filter((view) => isThere[view]);
  for (const view of kViews) byId(`tab-${view}`).hidden = !isThere[view];
  const page = {data, timeline: null, whatIf: null, diff: null};
  const show = (view) => {
    if (!views.includes(view)) view = 'findings';
    document.body.dataset.view = view;
    selectTab(views, view);
    if (view === 'timeline' && page.timeline === null)
      page.timeline = new Timeline(data.timeline, byId('view-timeline'));
    if (view === 'what_if' && page.whatIf === null)
      page.whatIf = new WhatIfView(data.what_if, byId('view-what_if'));
    if (view === 'diff' && page.diff === null) page.diff = new DiffView(changes, byId('view-diff'));
    // In a frame of a notebook the page has no address that could be changed.
    if (location.protocol !== 'about:' && location.hash.slice(1) !== view)
      history.replaceState(null, '', `#${view}`);
    scrollTo(0, 0);
  };
  page.show = show;
  setUpTabs(views, show);
  const toggleTheme = setUpTheme(byId('theme'), () => {
    if (page.timeline !== null) page.timeline.readColours();
  });
  const keys = byId('keys');
  setUpKeys(keys, byId('help'), kKeys);

  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
    if (event.target.matches('input[type=search], select')) return;  // they take letters
    const isView = Number(event.key) >= 1 && Number(event.key) <= views.length;
    if (event.key === '?')
      keys.showModal();
    else if (isView)
      show(views[Number(event.key) - 1]);
    else if (event.key.toLowerCase() === 'l')
      toggleTheme();
    else if (document.body.dataset.view !== 'timeline' || !page.timeline.key(event))
      return;
    event.preventDefault();
  });
  addEventListener('hashchange', () => show(location.hash.slice(1)));
  globalThis.page = page;
  show(location.hash.slice(1));
}

try {
  start();
} catch (error) {
  document.getElementById('verdict').append(
      el('p', {class: 'failure'}, `This page could not be built: ${error.message}`));
  throw error;
}
