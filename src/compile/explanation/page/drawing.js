// The graph: kernels as boxes from top to bottom in launch order, each with the values that it writes below
// it, and arrows from these to the kernels that read them. Boxes are buttons, arrows are one picture below
// them.

const kBoxWidth = 424, kBoxHeight = 66, kChipHeight = 24, kChipGap = 4, kGap = 26;
const kFramePad = 14, kFrameTitle = 22, kLaneWidth = 13, kMaxLanes = 8;
const kTop = 4, kLeft = 18;
// Graphs with more boxes are a list: lines instead of boxes, and the arrows of the selected kernel alone.
const kMaxBoxes = 60, kLineHeight = 30, kLineGap = 4, kListLanes = 4;
const kMaxInputs = 12;

const svg = (tag, attributes, ...children) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};

let drawings = 0;

class Drawing {
  constructor(graph, details) {
    this.graph = graph;
    this.details = details;
    this.selected = null;
    this.isList = graph.units.length > kMaxBoxes;
    this.id = `drawing-${++drawings}`;
    this.place();
    this.element = this.build();
    this.select(this.longest());
  }

  // The kernel that takes most of the time, or moves most bytes.
  longest() {
    const {graph} = this;
    const weight = (kernel) =>
        graph.isMeasured ? kernel.measured_ns : kernel.bytes_read + kernel.bytes_written;
    return graph.kernels.reduce(
        (best, kernel) => weight(kernel) > weight(graph.kernels[best]) ? kernel.index : best, 0);
  }

  // Positions of boxes, chips and lanes.
  place() {
    const {graph, isList} = this;
    const boxHeight = isList ? kLineHeight : kBoxHeight;
    this.chips = [];
    let y = kTop;
    for (const value of isList ? [] : this.foldedInputs()) {
      this.addChip(value, -1, y);
      y += kChipHeight + kChipGap;
    }
    if (this.chips.length > 0) y += kGap - kChipGap;
    for (const unit of graph.units) {
      const frame = graph.frames.find(({first}) => first === unit.index);
      if (frame !== undefined) {
        frame.top = y;
        y += kFramePad + kFrameTitle;
      }
      unit.top = y;
      y += boxHeight;
      for (const value of isList ? [] : unit.kernel.writes) {
        y += kChipGap;
        this.addChip(value, unit.index, y);
        y += kChipHeight;
      }
      const ended = graph.frames.find(({last}) => last === unit.index);
      if (ended !== undefined) {
        y += kFramePad;
        ended.bottom = y;
      }
      y += isList ? kLineGap : kGap;
    }
    this.height = y;
    this.boxHeight = boxHeight;
    this.placeLanes();
    const lanes = isList ? kListLanes :
                           Math.max(0, ...this.chips.map((chip) => chip.lane === null ? 0 : chip.lane + 1));
    this.width = kLeft + kBoxWidth + (lanes + 1) * kLaneWidth + 8;
  }

  // Inputs of one type that the same boxes read, such as the caches of all layers, are one chip.
  foldedInputs() {
    const {graph} = this;
    const groups = new Map();
    for (const input of graph.inputs) {
      if (input.readBy.length === 0 && !input.results) continue;
      const units = new Set(input.readBy.map((index) => graph.unitOf[index]));
      const key = JSON.stringify([input.type, [...units], input.results || null]);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(input);
    }
    const folded = [...groups.values()].map((inputs) => inputs.length === 1 ? inputs[0] : {
      ...inputs[0],
      name: `${inputs.length} inputs`,
      bytes: sum(inputs.map((input) => input.bytes || 0)),
      readBy: inputs.flatMap((input) => input.readBy),
    });
    if (folded.length <= kMaxInputs) return folded;
    const rest = {name: `${folded.length - kMaxInputs} more`, type: 'inputs', bytes: null, readBy: []};
    return [...folded.slice(0, kMaxInputs), rest];
  }

  // A chip shows one value. Of kernels that are alike it stands for the values of all of them.
  addChip(value, unit, top) {
    const {graph} = this;
    const readBy = new Set(value.readBy.map((index) => graph.unitOf[index]));
    const isResult = value.results !== undefined;
    let toNext = false, results = value.results || [];
    if (unit >= 0) {
      const output = graph.units[unit].kernel.writes.indexOf(value);
      for (const kernel of graph.units[unit].kernels.slice(1)) {
        const alike = kernel.writes[output];
        if (alike === undefined) continue;
        for (const index of alike.readBy) readBy.add(graph.unitOf[index]);
        results = [...results, ...alike.results || []];
      }
      for (const reader of readBy) {
        if (reader > unit) continue;
        toNext = true;  // an arrow up, from one repeat to the next
        readBy.delete(reader);
      }
    }
    this.chips.push(
        {value, unit, top, readBy: [...readBy].sort((a, b) => a - b), toNext, isResult, results, lane: null});
  }

  // A value that only the next box reads, and that is the last one above it, goes straight down. Others go
  // down in lanes on the right: in the first one that is free.
  placeLanes() {
    const {graph} = this;
    const ends = [];
    for (const [i, chip] of this.chips.entries()) {
      const isLast = i + 1 === this.chips.length || this.chips[i + 1].unit !== chip.unit;
      chip.isStraight = isLast && chip.readBy[0] === chip.unit + 1;
      const farther = chip.isStraight ? chip.readBy.slice(1) : chip.readBy;
      if (farther.length === 0) continue;
      const end = graph.units[farther[farther.length - 1]].top;
      let lane = ends.findIndex((used) => used < chip.top);
      if (lane < 0) lane = ends.length;
      if (lane >= kMaxLanes) continue;  // the chip says where it goes
      ends[lane] = end + kBoxHeight;
      chip.lane = lane;
      chip.laneTo = farther;
    }
  }

  build() {
    const {graph} = this;
    this.boxes = graph.units.map((unit) => this.box(unit));
    this.picture =
        svg('svg', {class: 'arrows', width: this.width, height: this.height, 'aria-hidden': 'true'});
    this.picture.append(
        svg('defs', {},
            ...['', ' lit'].map(
                (name) =>
                    svg('marker', {
                      id: `${this.id}${name.trim()}`,
                      viewBox: '0 0 8 8',
                      refX: 7,
                      refY: 4,
                      markerWidth: 8,
                      markerHeight: 8,
                      orient: 'auto',
                      markerUnits: 'userSpaceOnUse'
                    },
                        svg('path', {class: `head${name}`, d: 'M0 0.5 8 4 0 7.5z'})))));
    this.arrows = [];
    for (const chip of this.chips) this.drawArrows(chip);
    return el(
        'div', {
          class: 'drawing',
          role: 'group',
          'aria-label': 'Kernels in launch order',
          style: `width:${this.width}px;height:${this.height}px`,
          onkeydown: (event) => this.key(event)
        },
        graph.frames.map((frame) => this.frame(frame)), this.picture,
        this.chips.map((chip) => this.chip(chip)), this.boxes);
  }

  frame(frame) {
    const first = this.graph.units[frame.first].kernels, last = this.graph.units[frame.last].kernels;
    return el(
        'div', {
          class: 'frame',
          style: `left:${kLeft - kFramePad}px;top:${frame.top}px;width:${
                     this.width - kLeft + kFramePad - 3}px;` +
              `height:${frame.bottom - frame.top}px`
        },
        el('b', {}, `${frame.count} times`),
        ` kernels ${first[0].number} to ${last[0].number}, and so on to ${last[last.length - 1].number}`);
  }

  chip(chip) {
    const {value} = chip;
    const far = chip.readBy.filter((unit) => !(chip.isStraight && unit === chip.unit + 1));
    const isOutside = chip.unit >= 0 && value.from === 'input';  // memory of the caller's
    const where = [
      isOutside ? el('b', {}, `into input ${value.number}`) : null,
      chip.results.length === 0 ? null : el('b', {}, chip.results.length > 1 ? 'results' : 'result'),
      chip.toNext ? el('span', {}, 'to the next') : null,
      far.length === 0 || chip.lane !== null ?
          null :
          el('span', {}, `to ${far.map((unit) => this.graph.units[unit].kernel.number).join(', ')}`),
    ];
    return el(
        'div', {
          class: chip.unit < 0 || isOutside || chip.results.length > 0 ? 'chip outside' : 'chip',
          style: `left:${kLeft + 22}px;top:${chip.top}px;max-width:${kBoxWidth - 30}px`,
          title: `${value.name} ${value.type}`
        },
        el('code', {}, value.name || 'inside of the call'), el('code', {}, value.type),
        value.bytes === null ? null : el('span', {}, readable(value.bytes, 'bytes')), where);
  }

  box(unit) {
    const {graph} = this, {kernel} = unit;
    const most = Math.max(...graph.units.map((each) => each.ns), 1);
    const weights = sum(kernel.reads.filter((read) => read.from === 'constant').map((read) => read.bytes));
    return el(
        'button', {
          class: this.isList ? 'box line' : 'box',
          tabindex: -1,
          'aria-pressed': 'false',
          style: `left:${kLeft}px;top:${unit.top}px;width:${kBoxWidth}px;height:${this.boxHeight}px;` +
              `border-left-color:var(${kernel.kind[1]})`,
          onclick: () => this.select(unit.kernel.index),
        },
        el('span', {class: 'number'}, kernel.number),
        el('b', {class: 'title'}, kernel.title,
           unit.kernels.length > 1 ? el('small', {}, ` × ${unit.kernels.length}`) : null),
        el('span', {class: 'time'}, graph.isMeasured ? readableNs(unit.ns) : ''),
        el('code', {class: 'name'}, kernel.name),
        el('span', {class: 'bytes'},
           `${readable(kernel.bytes_read, 'bytes')} → ${readable(kernel.bytes_written, 'bytes')}`),
        el('span', {class: 'source'}, kernel.source),
        el('span', {class: 'bytes'}, weights > 0 ? `${readable(weights, 'bytes')} of constants` : ''),
        graph.isMeasured ? el('i', {class: 'share', style: `width:${100 * unit.ns / most}%`}) : null);
  }

  drawArrows(chip) {
    const {units} = this.graph;
    const add = (d, to, hasHead) => {
      const path = svg('path', {class: 'arrow', d});
      if (hasHead) path.setAttribute('marker-end', `url(#${this.id})`);
      this.picture.append(path);
      this.arrows.push({path, from: chip.unit, to, hasHead});
    };
    const stem = kLeft + 9;
    if (chip.unit >= 0) {  // from the box to its chip
      const above = units[chip.unit].top + kBoxHeight;
      add(`M${stem} ${above}V${chip.top + kChipHeight / 2}H${kLeft + 22}`, chip.unit, false);
    }
    if (chip.isStraight) {
      const x = kLeft + 46;
      add(`M${x} ${chip.top + kChipHeight}V${units[chip.unit + 1].top - 1}`, chip.unit + 1, true);
    }
    if (chip.lane === null) return;
    const right = kLeft + kBoxWidth, x = right + (chip.lane + 1) * kLaneWidth, y = chip.top + kChipHeight / 2;
    for (const to of chip.laneTo) {
      const reader = units[to].top + 18 + 5 * (chip.lane % 7);
      add(`M${kLeft + 60} ${y}H${x - 5}Q${x} ${y} ${x} ${y + 5}V${reader - 5}Q${x} ${reader} ${x - 5} ${
              reader}H${right + 1}`,
          to, true);
    }
  }

  // In a list: from the kernels that wrote what this box reads, and to those that read what it writes.
  drawOwnArrows(unit) {
    const {graph} = this;
    for (const {path} of this.arrows) path.remove();
    this.arrows = [];
    const {kernel} = graph.units[unit];
    const from = kernel.reads.flatMap(writersOf).map((writer) => graph.unitOf[writer.kernel]);
    const to = kernel.writes.flatMap((value) => value.readBy.map((index) => graph.unitOf[index]));
    const right = kLeft + kBoxWidth, middle = (each) => graph.units[each].top + this.boxHeight / 2;
    for (const [a, b] of [...from.map((each) => [each, unit]), ...to.map((each) => [unit, each])]) {
      const bend = right + kListLanes * kLaneWidth * Math.min(1, 0.4 + Math.abs(b - a) / 40);
      const y = middle(a) + 5, end = middle(b) - 5;
      const path =
          svg('path', {class: 'arrow', d: `M${right} ${y}C${bend} ${y} ${bend} ${end} ${right + 1} ${end}`});
      this.picture.append(path);
      this.arrows.push({path, from: a, to: b, hasHead: true});
    }
  }

  select(kernel) {
    const {graph} = this;
    this.selected = kernel;
    const unit = graph.unitOf[kernel];
    this.boxes.forEach((box, i) => {
      box.setAttribute('aria-pressed', String(i === unit));
      box.tabIndex = i === unit ? 0 : -1;
    });
    if (this.isList) this.drawOwnArrows(unit);
    for (const {path, from, to, hasHead} of this.arrows) {
      const isLit = from === unit || to === unit;
      path.setAttribute('class', isLit ? 'arrow lit' : 'arrow');
      if (hasHead) path.setAttribute('marker-end', `url(#${this.id}${isLit ? 'lit' : ''})`);
    }
    const focus = this.details.contains(document.activeElement);
    this.details.replaceChildren(
        ...detailsOf(graph.kernels[kernel], graph.units[unit], graph, (index) => this.follow(index)));
    this.details.scrollTop = 0;
    if (focus) this.details.focus();
  }

  // A link of the panel: its box comes into view, too.
  follow(kernel) {
    this.select(kernel);
    this.boxes[this.graph.unitOf[kernel]].scrollIntoView({block: 'nearest'});
  }

  key(event) {
    const at = this.graph.unitOf[this.selected], last = this.boxes.length - 1;
    const to = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last}[event.key];
    if (to === undefined || this.boxes[to] === undefined || event.altKey || event.ctrlKey || event.metaKey)
      return;
    event.preventDefault();
    this.select(this.graph.units[to].kernel.index);
    this.boxes[to].focus();
  }
}
