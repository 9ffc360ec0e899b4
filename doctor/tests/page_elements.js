// Builds the views of a page without a browser, and prints what the keyboard could not use of them:
//   node page_elements.js PAGE
// Elements are those of the page's own scripts, in a document of a few lines.
const fs = require('fs');

const page = fs.readFileSync(process.argv[2], 'utf8');
const between = (from, to) =>
    page.slice(page.indexOf(from) + from.length, page.indexOf(to, page.indexOf(from)));
const script = between('<script>\n', '</script>').replace(/\ntry \{\n  start\(\);[^]*$/, '\n');

class FakeElement {
  constructor(tag) {
    this.tag = tag;
    this.attributes = {};
    this.listeners = {};
    this.children = [];
    this.style = {};
    this.dataset = {};
    this.classList = {contains: (name) => (this.attributes.class || '').split(' ').includes(name)};
  }
  append(...children) {
    for (const child of children) {
      this.children.push(child);
      if (child instanceof FakeElement) child.parentNode = this;
    }
  }
  replaceChildren(...children) {
    this.children = [];
    this.append(...children);
  }
  setAttribute(name, value) {
    this.attributes[name] = value;
  }
  getAttribute(name) {
    return name in this.attributes ? this.attributes[name] : null;
  }
  addEventListener(type, action) {
    this.listeners[type] = action;
  }
  set textContent(text) {
    this.children = [text];
  }
  get textContent() {
    return this.children.map((child) => child instanceof FakeElement ? child.textContent : String(child)).join('');
  }
  getBoundingClientRect() {
    return {width: 0, height: 0};
  }
  * all() {
    yield this;
    for (const child of this.children)
      if (child instanceof FakeElement) yield* child.all();
  }
}

const document = {
  createElement: (tag) => new FakeElement(tag),
  createElementNS: (_, tag) => new FakeElement(tag),
  documentElement: new FakeElement('html'),
};
const globals = {
  document,
  getComputedStyle: () => ({getPropertyValue: () => '#000'}),
  ResizeObserver: class {
    observe() {}
  },
  requestAnimationFrame: () => 0,
  setTimeout: (action) => action(),
  clearTimeout: () => 0,
  devicePixelRatio: 1,
};
const names = ['showFindings', 'Timeline', 'WhatIfView', 'DiffView', 'isCurve', 'isDiff', 'kKeys', 'kViews'];
const {showFindings, Timeline, WhatIfView, DiffView, isCurve, isDiff, kKeys, kViews} = new Function(
    ...Object.keys(globals), `${script}\nreturn {${names.join(', ')}};`)(...Object.values(globals));

const data = JSON.parse(between('<script type="application/json" id="data">', '</script>'));
const views = {findings: new FakeElement('section'), timeline: new FakeElement('section')};
showFindings(data.diagnoses, views.findings);
const timeline = new Timeline(data.timeline, views.timeline);
if (data.what_if !== null) new WhatIfView(data.what_if, views.what_if = new FakeElement('section'));
const changes = data.diagnoses[0].findings.filter(isDiff);
if (changes.length > 0) new DiffView(changes, views.diff = new FakeElement('section'));

const problems = [];
const kUsable = new Set(['button', 'a', 'input', 'select']);
for (const [view, root] of Object.entries(views)) {
  const elements = [...root.all()];
  const labelled = new Set(elements.map((e) => e.attributes['for']).filter((id) => id !== undefined));
  for (const e of elements) {
    const what = `${view}: ${e.tag} "${e.textContent.slice(0, 30)}"`;
    if (e.listeners.click && !kUsable.has(e.tag) && !('tabindex' in e.attributes && e.listeners.keydown))
      problems.push(`${what} can be clicked, and not reached or not pressed`);
    if (e.tag === 'a' && !e.attributes.href) problems.push(`${what} is a link to nowhere`);
    const isLabelled = e.attributes['aria-label'] || labelled.has(e.attributes.id) || e.parentNode?.tag === 'label';
    if (['input', 'select'].includes(e.tag) && !isLabelled) problems.push(`${what} has no label`);
    if (e.tag === 'button' && e.textContent.trim() === '') problems.push(`${what} has no text`);
    if (e.tag === 'th' && e.children.some((child) => child.tag === 'button') && !e.attributes['aria-sort'])
      problems.push(`${what} sorts, and does not say how it is sorted`);
    if (e.tag === 'tbody' && e.children.some((child) => child.listeners?.keydown)) {
      const stops = e.children.filter((child) => child.attributes.tabindex === 0).length;
      if (stops !== 1) problems.push(`${view}: ${stops} rows of a table are in the order of Tab`);
    }
  }
}

// A curve has two bars for each point, none of them higher than the picture; the highest of each kind is its peak.
const curves = data.diagnoses[0].findings.flatMap((finding) => finding.tables).filter(isCurve);
const bars = [...views.findings.all()].filter((e) => /^left:/.test(e.style.cssText || ''));
const points = curves.flatMap((curve) => curve.rows);
if (bars.length !== 2 * points.length) problems.push(`${bars.length} bars for ${points.length} points of memory`);
if (points.length > 0) {
  const heights = (kind) =>
      bars.filter((bar) => bar.attributes.class === kind).map((bar) => Number(/height:([^%]+)%/.exec(bar.style.cssText)[1]));
  const most = (i) => Math.max(...points.map((point) => point[i] || 0));
  const top = Math.max(most(1), most(2));
  for (const [kind, i] of [['allocated', 1], ['reserved', 2]]) {
    if (Math.abs(Math.max(...heights(kind)) - 100 * most(i) / top) > 1e-6)
      problems.push(`the highest bar of what is ${kind} has ${Math.max(...heights(kind))} %`);
  }
}

// Every view has a tab and a panel, and every key of the timeline is in the list of keys.
for (const view of kViews) {
  if (!new RegExp(`<button role="tab" id="tab-${view}" aria-controls="view-${view}"`).test(page))
    problems.push(`${view} has no tab`);
  if (!new RegExp(`id="view-${view}" role="tabpanel" aria-labelledby="tab-${view}"`).test(page))
    problems.push(`${view} has no panel`);
}
const kShown = {'=': '+', '-': '−', ArrowLeft: '←', ArrowRight: '→', ArrowUp: '↑', ArrowDown: '↓',
                PageUp: 'Page Up', PageDown: 'Page Down', Escape: 'Esc'};
const listed = kKeys.find(([title]) => title === 'Timeline')[1].map(([keys]) => keys).join(' ');
const actions = /const actions = \{([^]*?)\n    \};/.exec(Timeline.prototype.key.toString())[1];
const keys = [...actions.matchAll(/^ {6}(?:'(.+)'|(\w+)): \(\)/gm)].map((match) => match[1] || match[2]);
if (keys.length < 20) problems.push(`only ${keys.length} keys of the timeline were found`);
for (const key of keys) {
  const shown = kShown[key] || (key.length === 1 ? key.toUpperCase() : key);
  if (!listed.includes(shown)) problems.push(`the list of keys does not have ${shown}`);
}
if (!/:focus-visible \{ outline: 2px/.test(page)) problems.push('what has the focus has no outline');
if (timeline.canvas.attributes.tabindex !== 0) problems.push('the timeline cannot have the focus');

console.log(problems.join('\n') || 'elements: fine');
process.exit(problems.length === 0 ? 0 : 1);
