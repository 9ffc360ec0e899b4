// The timeline: its panel, mouse and keys, selection and search.

class Timeline extends TimelinePicture {
  constructor(data, root) {
    super();
    this.trace = new Trace(data);
    this.root = root;
    this.from = 0;
    this.to = this.trace.length;
    this.scroll = 0;
    this.selection = null;
    this.launches = [];  // calls and activities of a selected span of the host
    this.hover = null;
    this.matches = [];
    this.match = -1;
    this.folded = new Set();
    this.colours = this.trace.kindTable.map(colourOf);
    this.showsPython = this.trace.hasPython && this.depthWithPython() <= 14;
    this.build();
    this.layOut();
    this.readColours();
    this.showDetails();
    new ResizeObserver(() => this.resize()).observe(this.stage);
  }

  depthWithPython() {
    let most = 0;
    const depths = new Int32Array(this.trace.count);
    for (let i = 0; i < this.trace.firstActivity; ++i) {
      depths[i] = this.trace.parents[i] < 0 ? 1 : depths[this.trace.parents[i]] + 1;
      if (depths[i] > most) most = depths[i];
    }
    return most;
  }

  build() {
    const button = (text, title, action) => el('button', {title, onclick: action}, text);
    this.search = el('input', {
      type: 'search',
      placeholder: 'Search names (/)',
      'aria-label': 'Search names',
      oninput: () => this.find(),
      onkeydown: (event) => {
        if (event.key === 'Enter') this.nextMatch(event.shiftKey ? -1 : 1);
        if (event.key === 'Escape') this.canvas.focus();
      }
    });
    this.found = el('span', {class: 'found', 'aria-live': 'polite'});
    const showPython = (event) => {
      this.showsPython = event.target.checked;
      this.layOut();
      const {selection} = this;
      if (selection !== null && !selection.isGap && !this.layout.isShown(selection.index)) this.select(null);
    };
    const box = el('input', {type: 'checkbox', checked: this.showsPython, onchange: showPython});
    const python = this.trace.hasPython ? el('label', {}, box, 'Python') : null;
    const causes = [...new Set(this.trace.gaps.map((gap) => gap.cause))].sort((a, b) => a - b);
    const swatch = (colour, text) => el('li', {}, el('i', {style: `background:var(--${colour})`}), text);
    const legend =
        el('ul', {class: 'legend', 'aria-label': 'Colours'}, causes.length > 0 ? el('li', {}, 'idle:') : null,
           causes.map(
               (cause) => swatch(causeColour(this.trace.causes[cause]).slice(2), this.trace.causes[cause])));
    const families = new Set(this.trace.kindTable.filter((kind) => kind.family).map(colourOf));
    const activities = kActivityLegend.filter(([colour]) => families.has(colour));
    if (activities.length > 0)
      legend.append(
          el('li', {}, 'device activities:'), ...activities.map(([colour, text]) => swatch(colour, text)));
    this.canvas =
        el('canvas', {tabindex: 0, role: 'application', 'aria-label': 'Timeline; ? shows its keys'});
    this.tip = el('div', {class: 'tip', hidden: true});
    this.stage = el('div', {class: 'stage'}, this.canvas, this.tip);
    this.details =
        el('aside', {class: 'details', 'aria-label': 'Selection', 'aria-live': 'polite', tabindex: 0});
    const leftOut = this.trace.leftOut.length === 0 ?
        null :
        el('div', {class: 'left-out'},
           'To keep this page small, the shortest are left out: ' +
               `${
                   this.trace.leftOut
                       .map(([count, what, ns]) => `${grouped(count)} ${what} of at most ${readableNs(ns)}`)
                       .join('; ')}.`);
    this.root.append(
        el('div', {class: 'timeline'},
           el('div', {class: 'timeline-bar'}, this.search, this.found,
              button('−', 'Zoom out (S)', () => this.zoom(1.5)),
              button('+', 'Zoom in (W)', () => this.zoom(1 / 1.5)),
              button('Fit', 'Fit to the selection (F)', () => this.fit()),
              button('All', 'All of the trace (0)', () => this.showAll()), python, legend),
           el('div', {class: 'timeline-body'}, this.stage, this.details), leftOut));
    this.listen();
  }

  itemAt(x, y) {
    if (x < this.gutter || y < this.top - 6) return null;
    const {trace} = this;
    const near = 3 / this.scale, time = this.time(x);
    for (const block of this.layout.blocks) {
      if (block.top === undefined || y < block.top || y >= block.top + block.height) continue;
      const row = block.rows[block.isFolded ? 0 : Math.floor((y - block.top) / this.layout.rowHeight)];
      if (row === undefined) return null;
      const begin = block.isGaps ? (i) => trace.gaps[i].begin : (i) => trace.begins[i];
      const end = block.isGaps ? (i) => trace.gaps[i].begin + trace.gaps[i].duration : (i) => trace.end(i);
      const at = this.firstAfter(row, time, end);
      let best = null, distance = near;
      for (const i of [at - 1, at]) {
        if (i < 0 || i >= row.length) continue;
        const away = Math.max(begin(row[i]) - time, time - end(row[i]), 0);
        if (away < distance) {
          best = row[i];
          distance = away;
        }
      }
      return best === null ? null : {isGap: block.isGaps === true, index: best};
    }
    return null;
  }

  listen() {
    const {canvas} = this;
    let drag = null;
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const moveOverview = (x) => {
      const middle = (x - this.gutter) / (this.width - this.gutter) * this.trace.length;
      this.show(middle - (this.to - this.from) / 2, middle + (this.to - this.from) / 2);
    };
    canvas.addEventListener('pointerdown', (event) => {
      const [x, y] = at(event);
      canvas.setPointerCapture(event.pointerId);
      drag = {
        x,
        y,
        from: this.from,
        to: this.to,
        scroll: this.scroll,
        moved: false,
        isOverview: y < kOverviewHeight
      };
      if (drag.isOverview) moveOverview(x);
    });
    canvas.addEventListener('pointermove', (event) => {
      const [x, y] = at(event);
      if (drag === null) {
        this.hoverAt(x, y);
        return;
      }
      if (drag.isOverview) {
        moveOverview(x);
        return;
      }
      if (Math.abs(x - drag.x) + Math.abs(y - drag.y) > 3) drag.moved = true;
      if (!drag.moved) return;
      this.tip.hidden = true;
      canvas.style.cursor = 'grabbing';
      const by = (drag.x - x) / this.scale;
      this.scroll = drag.scroll + drag.y - y;
      this.show(drag.from + by, drag.to + by);
    });
    canvas.addEventListener('pointerup', (event) => {
      const [x, y] = at(event);
      canvas.style.cursor = '';
      if (drag !== null && !drag.moved && !drag.isOverview) this.click(x, y);
      drag = null;
    });
    canvas.addEventListener('pointerleave', () => {
      this.hover = null;
      this.tip.hidden = true;
      this.draw();
    });
    canvas.addEventListener('dblclick', () => this.fit());
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      const [x] = at(event);
      const lines = event.deltaMode === 1 ? 30 : 1;
      if (event.shiftKey)
        this.scrollBy((event.deltaY || event.deltaX) * lines);
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
        this.pan(event.deltaX * lines / (this.width - this.gutter));
      else
        this.zoom(
            Math.exp(Math.max(-300, Math.min(300, event.deltaY * lines)) / 400),
            this.time(Math.max(this.gutter, x)));
    }, {passive: false});
  }

  hoverAt(x, y) {
    const item = this.itemAt(x, y);
    const isOther = (item === null) !== (this.hover === null) ||
        (item !== null && (item.index !== this.hover.index || item.isGap !== this.hover.isGap));
    this.hover = item;
    if (isOther) {
      if (item !== null) this.tip.replaceChildren(...tipOf(this.trace, item).filter((part) => part !== null));
      this.tip.hidden = item === null;
      this.draw();
    }
    if (item === null) return;
    const box = this.tip.getBoundingClientRect();
    this.tip.style.left = `${Math.max(4, Math.min(x + 14, this.width - box.width - 8))}px`;
    this.tip.style.top = `${y + 18 + box.height > this.height ? Math.max(4, y - box.height - 10) : y + 18}px`;
  }

  click(x, y) {
    if (x < this.gutter) {
      const block =
          this.layout.blocks.find((b) => b.top !== undefined && y >= b.top - 2 && y < b.top + b.height + 2);
      if (block !== undefined) this.fold(block);
      return;
    }
    this.select(this.itemAt(x, y));
  }

  select(item) {
    this.selection = item;
    this.launches = item === null || item.isGap || this.trace.isActivity(item.index) ?
        [] :
        this.trace.launchesIn(item.index);
    this.showDetails();
    this.draw();
  }
  // Selects a span, and moves so that it is seen.
  choose(span) {
    const lane = this.layout.blockOfLane[this.trace.laneOf[span]];
    if (!this.layout.isShown(span)) {
      this.showsPython = true;
      this.layOut();
    } else if (lane !== undefined && this.folded.delete(lane.key)) {
      this.layOut();
    }
    this.select({isGap: false, index: span});
    this.reveal(span);
  }
  reveal(span) {
    const {trace} = this;
    const begin = trace.begins[span], end = trace.end(span), width = this.to - this.from;
    if (begin < this.from || end > this.to || (end - begin) * this.scale < 3) {
      const wanted = Math.min(Math.max((end - begin) * 6, 1), Math.max(width, (end - begin) * 1.2));
      const middle = (begin + end) / 2;
      this.show(middle - wanted / 2, middle + wanted / 2);
    }
    const block = this.layout.blockOfLane[trace.laneOf[span]];
    const y = this.shift(block) + this.layout.yOf(span);
    if (y < this.top || y > this.height - this.layout.rowHeight)
      this.scrollBy(y - (this.top + this.height) / 2);
  }
  showDetails() {
    const follow = (span) => {
      this.choose(span);
      this.details.focus();  // the link that had it is gone
    };
    this.details.replaceChildren(
        ...detailsOf(this.trace, this.selection, follow).flat().filter((part) => part !== null));
    this.details.scrollTop = 0;
  }

  show(from, to) {
    const {length} = this.trace;
    const width = Math.min(Math.max(to - from, 20), length);
    const middle = (from + to) / 2;
    this.from = Math.min(Math.max(0, middle - width / 2), length - width);
    this.to = this.from + width;
    this.draw();
  }
  zoom(factor, around = (this.from + this.to) / 2) {
    const width = Math.min(Math.max((this.to - this.from) * factor, 20), this.trace.length);
    const part = (around - this.from) / (this.to - this.from);
    this.show(around - part * width, around + (1 - part) * width);
  }
  pan(part) {
    const by = part * (this.to - this.from);
    this.show(this.from + by, this.to + by);
  }
  scrollBy(pixels) {
    this.scroll += pixels;
    this.draw();
  }
  showAll() {
    this.show(0, this.trace.length);
  }
  fit() {
    if (this.selection === null) {
      this.showAll();
      return;
    }
    const {isGap, index} = this.selection;
    let begin = isGap ? this.trace.gaps[index].begin : this.trace.begins[index];
    let end = begin + (isGap ? this.trace.gaps[index].duration : this.trace.durations[index]);
    const include = (span) => {
      begin = Math.min(begin, this.trace.begins[span]);
      end = Math.max(end, this.trace.end(span));
    };
    if (!isGap && this.trace.isActivity(index) && this.trace.launchOf[index] >= 0)
      include(this.trace.launchOf[index]);
    for (const [, activity] of this.launches) include(activity);
    const margin = Math.max(10, (end - begin) * 0.08);
    this.show(begin - margin, end + margin);
  }

  find() {
    const text = this.search.value.trim().toLowerCase();
    this.matches = [];
    this.match = -1;
    if (text !== '') {
      const hits = this.trace.kindTable.map(
          (kind) => kind.name.toLowerCase().includes(text) || kind.title.toLowerCase().includes(text));
      for (let span = 0; span < this.trace.count; ++span)
        if (hits[this.trace.kinds[span]]) this.matches.push(span);
    }
    this.found.textContent = text === '' ? '' : `${grouped(this.matches.length)} found`;
    this.draw();
  }
  nextMatch(by) {
    if (this.matches.length === 0) return;
    this.match = (this.match + by + this.matches.length) % this.matches.length;
    this.found.textContent = `${grouped(this.match + 1)} of ${grouped(this.matches.length)}`;
    this.choose(this.matches[this.match]);
  }

  // The next on the row of the selection, or the first activity that is seen.
  step(by) {
    if (this.selection === null) {
      const block = this.layout.blocks.find((b) => b.lane !== undefined);
      if (block !== undefined) this.choose(this.nearest(block, block.rows[0], this.from));
      return;
    }
    const {index} = this.selection;
    const {block, depth} = this.placeOfSelection();
    const row = block.rows[depth];
    const next = row[row.indexOf(index) + by];
    if (next !== undefined) this.chooseIn(block, next);
  }
  chooseIn(block, item) {
    if (!block.isGaps) {
      this.choose(item);
      return;
    }
    if (this.folded.delete(block.key)) this.layOut();
    this.select({isGap: true, index: item});
    const gap = this.trace.gaps[item];
    const half = (this.to - this.from) / 2, middle = gap.begin + gap.duration / 2;
    if (gap.begin < this.from || gap.begin + gap.duration > this.to) this.show(middle - half, middle + half);
  }
  placeOfSelection() {
    const {isGap, index} = this.selection;
    if (isGap)
      return {block: this.layout.blocks.find((b) => b.isGaps && b.rows[0].includes(index)), depth: 0};
    return {block: this.layout.blockOfLane[this.trace.laneOf[index]], depth: this.layout.depths[index]};
  }
  // Of a row, what lasts beyond a time, or the last before it.
  nearest(block, row, time) {
    const {trace} = this;
    const end = block.isGaps ? (i) => trace.gaps[i].begin + trace.gaps[i].duration : (i) => trace.end(i);
    return row[Math.min(row.length - 1, this.firstAfter(row, time, end))];
  }
  get timeOfSelection() {
    const {isGap, index} = this.selection;
    return isGap ? this.trace.gaps[index].begin : this.trace.begins[index];
  }
  changeRow(by) {
    if (this.selection === null) {
      this.step(1);
      return;
    }
    const place = this.placeOfSelection();
    const rows = this.layout.blocks.flatMap(
        (block) => block.rows.map((row, depth) => ({block, depth, row})).filter(({row}) => row.length > 0));
    const at = rows.findIndex(({block, depth}) => block === place.block && depth === place.depth);
    const to = rows[at + by];
    if (to !== undefined) this.chooseIn(to.block, this.nearest(to.block, to.row, this.timeOfSelection));
  }
  stepToGap(by) {
    if (this.selection !== null && this.selection.isGap) {
      this.step(by);
      return;
    }
    const block = this.layout.blocks.find((b) => b.isGaps && b.rows[0].length > 0);
    if (block === undefined) return;
    const [row] = block.rows, time = this.selection === null ? this.from : this.timeOfSelection;
    const next = row.indexOf(this.nearest(block, row, time)) + (by < 0 ? -1 : 0);
    this.chooseIn(block, row[Math.max(0, next)]);
  }
  fold(block) {
    if (!this.folded.delete(block.key)) this.folded.add(block.key);
    this.layOut();
  }
  stepOut() {
    if (this.selection === null || this.selection.isGap) return;
    const {index} = this.selection;
    let to = this.trace.isActivity(index) ? this.trace.launchOf[index] : this.trace.parents[index];
    while (to >= 0 && !this.layout.isShown(to)) to = this.trace.parents[to];
    if (to >= 0) this.choose(to);
  }
  stepIn() {
    if (this.selection === null || this.selection.isGap || this.trace.isActivity(this.selection.index))
      return;
    const {index} = this.selection;
    const activities = this.trace.activitiesOf.get(index);
    if (activities !== undefined) {
      this.choose(activities[0]);
      return;
    }
    for (let span = index + 1;
         span < this.trace.firstActivity && this.trace.begins[span] < this.trace.end(index); ++span) {
      if (this.layout.isShown(span)) {
        this.choose(span);
        return;
      }
    }
  }

  // Whether a key meant something here.
  key(event) {
    const isOfPanel = this.details.contains(event.target) && event.key.length > 1 && event.key !== 'Escape';
    if (isOfPanel) return false;  // arrows and pages scroll it
    const {length} = this.trace;
    const actions = {
      w: () => this.zoom(1 / 1.3),
      '+': () => this.zoom(1 / 1.3),
      '=': () => this.zoom(1 / 1.3),
      s: () => this.zoom(1.3),
      '-': () => this.zoom(1.3),
      a: () => this.pan(-0.12),
      ArrowLeft: () => this.pan(-0.12),
      d: () => this.pan(0.12),
      ArrowRight: () => this.pan(0.12),
      ArrowUp: () => this.scrollBy(-50),
      ArrowDown: () => this.scrollBy(50),
      Home: () => this.show(0, this.to - this.from),
      End: () => this.show(length - (this.to - this.from), length),
      f: () => this.fit(),
      0: () => this.showAll(),
      '/': () => this.search.focus(),
      n: () => this.nextMatch(1),
      N: () => this.nextMatch(-1),
      ',': () => this.step(-1),
      '.': () => this.step(1),
      j: () => this.changeRow(1),
      k: () => this.changeRow(-1),
      g: () => this.stepToGap(1),
      G: () => this.stepToGap(-1),
      c: () => {
        if (this.selection !== null) this.fold(this.placeOfSelection().block);
      },
      PageUp: () => this.stepOut(),
      PageDown: () => this.stepIn(),
      Escape: () => this.select(null),
    };
    const action = actions[event.key] || actions[event.key.toLowerCase()];
    if (action === undefined) return false;
    action();
    return true;
  }
}
