// The timeline on a canvas: what is narrower than a pixel is drawn as one.

const kOverviewHeight = 30, kAxisHeight = 20, kStepHeight = 16, kTop = kOverviewHeight + kAxisHeight;

const kFewestLetters = 4;  // of a name that is cut
const kShades = 5;         // of a pixel, by how much of it is covered
const kMaxLinks = 60;      // of a span that launched more, evenly chosen ones

const kFamilyColours = {
  gemm: 'matmul',
  gemv: 'matmul',
  convolution: 'matmul',
  attention: 'matmul',
  moe: 'matmul',
  elementwise: 'elementwise',
  optimizer: 'elementwise',
  random: 'elementwise',
  quantize: 'elementwise',
  reduction: 'reduce',
  norm: 'reduce',
  softmax: 'reduce',
  loss: 'reduce',
  scan: 'reduce',
  sort: 'reduce',
  pooling: 'reduce',
  copy: 'move',
  fill: 'move',
  index: 'move',
  embedding: 'move',
  resize: 'move',
  collective: 'collective',
};
const kCategoryColours = {
  cpu_op: 'op',
  cuda_runtime: 'call',
  cuda_driver: 'call',
  python_function: 'python',
  user_annotation: 'note',
  overhead: 'overhead',
  gpu_memcpy: 'move',
  gpu_memset: 'move'
};
const kActivityLegend = [
  ['matmul', 'matmuls'], ['elementwise', 'elementwise'], ['reduce', 'reductions'],
  ['move', 'copies, indices'], ['collective', 'collectives'], ['activity', 'others']
];
const kDarkFills = new Set(['matmul', 'collective', 'call', 'wait']);
const kColourNames = [
  'page', 'card',   'ink',         'soft',   'line',     'faint',      'accent',       'mark',
  'busy', 'matmul', 'elementwise', 'reduce', 'move',     'collective', 'activity',     'op',
  'call', 'wait',   'python',      'note',   'overhead', 'span-ink',   'dark-span-ink'
];

function colourOf(kind) {
  if (kind.family) return kFamilyColours[kind.family] || (kind.category === 'kernel' ? 'activity' : 'move');
  if (kind.category.endsWith('_runtime') || kind.category.endsWith('_driver'))
    return kind.name.includes('Synchronize') ? 'wait' : 'call';
  return kCategoryColours[kind.category] || 'overhead';
}

// The picture of what a Timeline shows: from and to, scroll, selection, matches.
class TimelinePicture {
  // Rows grow if there is space.
  layOut() {
    const options = {showsPython: this.showsPython, folded: this.folded, rowHeight: kRowHeight};
    this.layout = new Layout(this.trace, options);
    if (this.height !== undefined) {
      const rows =
          this.layout.blocks.reduce((sum, block) => sum + (block.isFolded ? 0 : block.rows.length), 0);
      const available =
          this.height - this.top - 10 - this.heads() * kHeadHeight - (this.layout.height - rows * kRowHeight);
      options.rowHeight =
          Math.max(kRowHeight, Math.min(kTallRowHeight, Math.floor(available / Math.max(1, rows))));
      this.layout = new Layout(this.trace, options);
    }
    this.isOverviewOld = true;
    this.draw();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    this.colour = {};
    for (const name of kColourNames) this.colour[name] = style.getPropertyValue(`--${name}`).trim();
    this.causeColours = this.trace.causes.map(
        (cause) => style.getPropertyValue(causeColour(cause)).trim() || this.colour.activity);
    this.isOverviewOld = true;
    this.draw();
  }

  resize() {
    const {width, height} = this.stage.getBoundingClientRect();
    const ratio = devicePixelRatio || 1;
    if (width === 0 || height === 0) return;
    this.width = width;
    this.height = height;
    this.gutter = width < 640 ? 84 : 132;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.context = this.canvas.getContext('2d');
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.layOut();
    this.paint();
  }

  draw() {
    if (this.isAsked || this.context === undefined) return;
    this.isAsked = true;
    requestAnimationFrame(() => {
      this.isAsked = false;
      this.paint();
    });
  }

  get scale() {
    return (this.width - this.gutter) / (this.to - this.from);
  }
  x(time) {
    return this.gutter + (time - this.from) * this.scale;
  }
  time(x) {
    return this.from + (x - this.gutter) / this.scale;
  }
  get top() {
    return kTop + (this.trace.steps.length > 0 ? kStepHeight : 0) + 6;
  }
  get mostScroll() {
    return Math.max(0, this.layout.height + kHeadHeight * this.heads() + 10 - (this.height - this.top));
  }
  heads() {
    return this.layout.blocks.filter((block) => block.head).length;
  }
  // Of a block on the canvas: heads take a line of their own.
  shift(block) {
    let heads = 0;
    for (const other of this.layout.blocks) {
      if (other.head) ++heads;
      if (other === block) break;
    }
    return this.top - this.scroll + heads * kHeadHeight;
  }

  paint() {
    const start = performance.now();
    const {context: c, width, height, colour} = this;
    this.scroll = Math.min(Math.max(0, this.scroll), this.mostScroll);
    c.clearRect(0, 0, width, height);
    c.font = '12px system-ui, -apple-system, \'Segoe UI\', Roboto, sans-serif';
    c.textBaseline = 'middle';
    c.save();
    c.beginPath();
    c.rect(0, this.top - 6, width, height - this.top + 6);
    c.clip();
    this.paintStepLines();
    let heads = 0;
    for (const block of this.layout.blocks) {
      if (block.head) ++heads;
      const y = this.top - this.scroll + heads * kHeadHeight + block.y;
      block.top = y;
      if (y > height || y + block.height + kHeadHeight < this.top) continue;
      if (block.head) {
        c.fillStyle = colour.ink;
        c.font = '600 12px system-ui, -apple-system, \'Segoe UI\', Roboto, sans-serif';
        c.fillText(block.head, 12, y - kHeadHeight / 2 - 1);
        c.font = '12px system-ui, -apple-system, \'Segoe UI\', Roboto, sans-serif';
      }
      c.save();
      c.beginPath();
      c.rect(this.gutter, Math.max(this.top - 6, y - 1), width - this.gutter, block.height + 2);
      c.clip();
      block.rows.forEach((row, depth) => {
        const rowY = block.isFolded ? y + 6 : y + depth * this.layout.rowHeight;
        if (rowY > height || rowY + this.layout.rowHeight < this.top - 6) return;
        if (block.isGaps)
          this.paintGaps(row, rowY);
        else
          this.paintRow(row, rowY, block.isFolded ? kFoldedHeight : this.layout.rowHeight - 2);
      });
      c.restore();
      c.fillStyle = colour.soft;
      this.text(
          `${block.isFolded ? '▸' : '▾'} ${block.name}`, 8,
          Math.max(y, this.top - 6) + (block.isFolded ? 9 : this.layout.rowHeight / 2), this.gutter - 14);
      c.fillStyle = colour.line;
      c.fillRect(0, Math.round(y + block.height + kLaneGap / 2), width, 1);
    }
    this.paintMatches();
    this.paintSelection();
    c.restore();
    this.paintAxis();
    this.paintOverview();
    this.paintMs = performance.now() - start;
  }

  text(text, x, y, available) {
    const {context: c} = this;
    if (text.length * 4 > available || c.measureText(text).width > available) {
      let most = Math.min(text.length, Math.floor(available / 4));
      while (most >= kFewestLetters && c.measureText(text.slice(0, most) + '…').width > available)
        most -= Math.ceil(most / 12);
      if (most < kFewestLetters) return;
      text = text.slice(0, most) + '…';
    }
    c.fillText(text, x, y);
  }

  // The first of a row that ends after a time. Spans of a row do not overlap.
  firstAfter(row, time, endOf) {
    let low = 0, high = row.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (endOf(row[middle]) <= time)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  // Calls wide(item, x, width) for what can be seen, and narrow(colour, shade, x, width) for runs of what is
  // below a pixel; the shade, from 0 to 1, says how much of them is covered.
  walk(row, beginOf, endOf, colourOf_, wide, narrow) {
    const {scale, from, to} = this;
    if (row.sums === undefined) {
      row.sums = new Float64Array(row.length + 1);
      for (let i = 0; i < row.length; ++i) row.sums[i + 1] = row.sums[i] + endOf(row[i]) - beginOf(row[i]);
    }
    let runColour = null, runShade = 0, runX = 0, runEnd = 0;
    const flush = () => {
      if (runColour !== null) narrow(runColour, (runShade + 1) / (kShades + 1), runX, runEnd - runX);
      runColour = null;
    };
    for (let i = this.firstAfter(row, from, endOf); i < row.length; ++i) {
      const item = row[i], begin = beginOf(item);
      if (begin >= to) break;
      const x = (begin - from) * scale, width = (endOf(item) - begin) * scale;
      if (width >= 1.5) {
        flush();
        wide(item, this.gutter + x, width);
        continue;
      }
      const pixel = Math.floor(x);
      const colour = colourOf_(item);
      // All others that begin in this pixel; only the last of them can be wide.
      const limit = from + (pixel + 1) / scale;
      let low = i + 1, high = row.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (beginOf(row[middle]) < limit)
          low = middle + 1;
        else
          high = middle;
      }
      let last = low - 1;
      if (last > i && (endOf(row[last]) - beginOf(row[last])) * scale >= 1.5) --last;
      const shade = Math.min(kShades, Math.round((row.sums[last + 1] - row.sums[i]) * scale * kShades));
      i = last;
      if (runColour === colour && runShade === shade && pixel <= runEnd) {
        runEnd = pixel + 1;
        continue;
      }
      flush();
      runColour = colour;
      runShade = shade;
      runX = pixel;
      runEnd = pixel + 1;
    }
    flush();
  }

  paintRow(row, y, height) {
    const {context: c, trace, colour} = this;
    this.walk(
        row, (span) => trace.begins[span], (span) => trace.end(span),
        (span) => this.colours[trace.kinds[span]],
        (span, x, width) => {
          const name = this.colours[trace.kinds[span]];
          c.fillStyle = colour[name];
          const shown = Math.max(width - (width > 4 ? 1 : 0.3), 1);
          c.fillRect(x, y, shown, height);
          if (width > 26 && height > 10) {
            c.fillStyle = kDarkFills.has(name) ? colour['dark-span-ink'] : this.inkOn(name);
            const left = Math.max(x, this.gutter) + 4;
            this.text(
                trace.title(span), left, y + height / 2 + 0.5, Math.min(x + width, this.width) - left - 4);
          }
        },
        (name, shade, x, width) => {
          c.globalAlpha = shade;
          c.fillStyle = colour[name];
          c.fillRect(this.gutter + x, y, width, height);
          c.globalAlpha = 1;
        });
  }
  inkOn(name) {
    const isDark = document.documentElement.dataset.theme === 'dark';
    return isDark && (name === 'op' || name === 'python' || name === 'note' || name === 'overhead') ?
        this.colour['dark-span-ink'] :
        this.colour['span-ink'];
  }

  inkOnGap(cause) {
    if (cause === 'unexplained') return this.colour.page;
    return cause === 'sync' || cause === 'dependency' ? '#ffffff' : '#15181c';
  }

  paintGaps(row, y) {
    const {context: c, trace} = this;
    const gap = (i) => trace.gaps[i];
    const height = this.layout.rowHeight - 2;
    this.walk(
        row, (i) => gap(i).begin, (i) => gap(i).begin + gap(i).duration, (i) => gap(i).cause,
        (i, x, width) => {
          c.fillStyle = this.causeColours[gap(i).cause];
          c.fillRect(x, y, Math.max(1, width - 0.5), height);
          if (width > 40) {
            c.fillStyle = this.inkOnGap(trace.causes[gap(i).cause]);
            const left = Math.max(x, this.gutter) + 4;
            const available = Math.min(x + width, this.width) - left - 4;
            this.text(
                available < 110 ? trace.causes[gap(i).cause] :
                                  `${trace.causes[gap(i).cause]} ${readableNs(gap(i).duration)}`,
                left, y + height / 2 + 0.5, available);
          }
        },
        (cause, shade, x, width) => {
          c.globalAlpha = shade;
          c.fillStyle = this.causeColours[cause];
          c.fillRect(this.gutter + x, y, width, height);
          c.globalAlpha = 1;
        });
  }

  paintStepLines() {
    const {context: c, colour, trace} = this;
    c.fillStyle = colour.line;
    for (const [, begin] of trace.steps) {
      const x = Math.round(this.x(begin));
      if (x >= this.gutter && x < this.width) c.fillRect(x, this.top - 6, 1, this.height);
    }
  }

  paintMatches() {
    const {context: c, trace, colour} = this;
    if (this.matches.length === 0) return;
    c.fillStyle = colour.mark;
    const {from, to, scale, gutter} = this;
    const drawnTo = new Float64Array(Math.ceil(this.height) + 1);  // of each line of pixels
    for (const span of this.matches) {
      const begin = trace.begins[span], end = begin + trace.durations[span];
      if (begin > to || end < from) continue;
      const right = gutter + (end - from) * scale;
      const block = this.layout.blockOfLane[trace.laneOf[span]];
      if (block === undefined || !this.layout.isShown(span)) continue;
      const depth = block.isFolded ? 0 : this.layout.depths[span];
      const y = Math.round(
          block.top + (block.isFolded ? 6 + kFoldedHeight : (depth + 1) * this.layout.rowHeight) - 4);
      if (y < 0 || y >= this.height || right < drawnTo[y]) continue;
      const x = Math.max(gutter, gutter + (begin - from) * scale, drawnTo[y]);
      drawnTo[y] = Math.max(right, x + 2);
      c.fillRect(x, y, drawnTo[y] - x, 3);
    }
  }

  rectOf(item) {
    const {trace} = this;
    if (item.isGap) {
      const gap = trace.gaps[item.index];
      const block = this.layout.blocks.find((b) => b.isGaps && b.rows[0].includes(item.index));
      return {
        x: this.x(gap.begin),
        y: block.top,
        width: gap.duration * this.scale,
        height: this.layout.rowHeight - 2
      };
    }
    const block = this.layout.blockOfLane[trace.laneOf[item.index]];
    if (block === undefined || block.top === undefined) return null;
    return {
      x: this.x(trace.begins[item.index]),
      y: block.top + this.layout.yOf(item.index) - block.y,
      width: trace.durations[item.index] * this.scale,
      height: block.isFolded ? kFoldedHeight : this.layout.rowHeight - 2
    };
  }

  paintSelection() {
    const {context: c, colour, trace} = this;
    if (this.hover !== null) this.outline(this.hover, colour.soft, 1);
    if (this.selection === null) return;
    const {isGap, index} = this.selection;
    c.save();
    c.beginPath();
    c.rect(this.gutter, this.top - 6, this.width - this.gutter, this.height);
    c.clip();
    if (isGap) {
      const gap = trace.gaps[index];
      if (gap.blame >= 0) this.outline({index: gap.blame}, colour.mark, 2);
      if (gap.next >= 0 && trace.launchOf[gap.next] >= 0) this.link(trace.launchOf[gap.next], gap.next);
    } else if (trace.isActivity(index)) {
      if (trace.launchOf[index] >= 0) this.link(trace.launchOf[index], index);
    } else {
      const launches = this.launches, every = Math.ceil(launches.length / kMaxLinks);
      for (let i = 0; i < launches.length; i += every) this.link(...launches[i]);
    }
    this.outline(this.selection, colour.ink, 2);
    c.restore();
  }
  outline(item, colour, width) {
    const rect = this.rectOf(item);
    if (rect === null) return;
    const {context: c} = this;
    c.strokeStyle = colour;
    c.lineWidth = width;
    const left = Math.max(rect.x, this.gutter - 4),
          right = Math.min(rect.x + Math.max(rect.width, 2), this.width + 4);
    if (right > left) c.strokeRect(left - 0.5, rect.y - 0.5, right - left, rect.height + 1);
  }
  link(call, activity) {
    const a = this.rectOf({index: call}), b = this.rectOf({index: activity});
    if (a === null || b === null) return;
    const {context: c} = this;
    const x0 = a.x + Math.min(a.width / 2, 8), x1 = b.x + Math.min(1, b.width / 2);
    const y0 = a.y, y1 = b.y + b.height;
    if (Math.max(x0, x1) < this.gutter || Math.min(x0, x1) > this.width) return;
    c.strokeStyle = this.colour.mark;
    c.lineWidth = 1.3;
    c.globalAlpha = 0.75;
    c.beginPath();
    c.moveTo(x0, y0);
    c.bezierCurveTo(x0, y0 + (y1 - y0) * 0.5, x1, y1 + (y0 - y1) * 0.5, x1, y1);
    c.stroke();
    c.globalAlpha = 1;
    c.fillStyle = this.colour.mark;
    c.fillRect(x1 - 1.5, y1 - 1, 3, 3);
  }

  paintAxis() {
    const {context: c, colour, trace} = this;
    c.fillStyle = colour.card;
    c.fillRect(0, kOverviewHeight, this.width, this.top - 6 - kOverviewHeight);
    const span = this.to - this.from;
    const rough = span / Math.max(2, (this.width - this.gutter) / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];
    const [unit, unitName] = units.find(([size]) => this.to >= size) || units[3];
    const digits = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
    c.fillStyle = colour.soft;
    c.textAlign = 'left';
    for (let t = Math.ceil(this.from / step) * step; t < this.to; t += step) {
      const x = this.x(t);
      c.fillStyle = colour.line;
      c.fillRect(Math.round(x), kOverviewHeight + 2, 1, kAxisHeight - 4);
      c.fillStyle = colour.soft;
      const label = `${(t / unit).toFixed(digits)} ${unitName}`;
      if (x + 8 + label.length * 7 < this.width) c.fillText(label, x + 4, kOverviewHeight + kAxisHeight / 2);
    }
    this.text(`${readableNs(span)} shown`, 8, kOverviewHeight + kAxisHeight / 2, this.gutter - 12);
    if (trace.steps.length > 0) {
      c.save();
      c.beginPath();
      c.rect(this.gutter, kTop, this.width - this.gutter, kStepHeight);
      c.clip();
      let lastEnd = -1;
      for (const [name, begin, duration] of trace.steps) {
        const x = Math.max(this.gutter, this.x(begin)), end = Math.min(this.width, this.x(begin + duration));
        if (end < this.gutter || x > this.width || end - x < 1 || x < lastEnd - 1) continue;
        lastEnd = end;
        c.fillStyle = colour.faint;
        c.fillRect(x, kTop, end - x - 1, kStepHeight);
        c.fillStyle = colour.ink;
        c.fillRect(x, kTop, 1, kStepHeight);
        this.text(name, x + 5, kTop + kStepHeight / 2 + 0.5, end - x - 8);
      }
      c.restore();
    }
    c.fillStyle = colour.line;
    c.fillRect(0, this.top - 6, this.width, 1);
  }

  // All of the trace: how busy the first device was, and what for it idled.
  paintOverview() {
    const {context: c, colour} = this;
    const width = this.width - this.gutter;
    if (this.isOverviewOld) {
      this.overview = document.createElement('canvas');
      this.overview.width = Math.max(1, Math.round(width));
      this.overview.height = kOverviewHeight;
      this.paintShares(this.overview.getContext('2d'), this.overview.width);
      this.isOverviewOld = false;
    }
    c.fillStyle = colour.page;
    c.fillRect(0, 0, this.width, kOverviewHeight);
    c.drawImage(this.overview, this.gutter, 0, width, kOverviewHeight);
    const left = this.gutter + this.from / this.trace.length * width,
          right = this.gutter + this.to / this.trace.length * width;
    c.fillStyle = colour.page;
    c.globalAlpha = 0.65;
    c.fillRect(this.gutter, 0, left - this.gutter, kOverviewHeight);
    c.fillRect(right, 0, this.width - right, kOverviewHeight);
    c.globalAlpha = 1;
    c.strokeStyle = colour.ink;
    c.lineWidth = 1;
    c.strokeRect(left + 0.5, 0.5, Math.max(2, right - left - 1), kOverviewHeight - 1);
    c.fillStyle = colour.soft;
    this.text('whole trace', 8, kOverviewHeight / 2, this.gutter - 12);
  }

  paintShares(c, width) {
    const {trace} = this;
    const perPixel = trace.length / width;
    const shares = trace.causes.map(() => new Float64Array(width));
    const busy = new Float64Array(width);
    const add = (to, begin, duration) => {
      const end = Math.min(trace.length, begin + duration);
      for (let x = Math.max(0, Math.floor(begin / perPixel)); x < width && x * perPixel < end; ++x)
        to[x] += Math.min(end, (x + 1) * perPixel) - Math.max(begin, x * perPixel);
    };
    const first = trace.lanes.find((lane) => lane.isDevice);
    if (first === undefined) {
      const host = trace.lanes[0];
      if (host !== undefined) {
        for (let span = host.first; span < host.end; ++span)
          if (trace.parents[span] < 0) add(busy, trace.begins[span], trace.durations[span]);
      }
    } else {
      for (const gap of trace.gaps)
        if (gap.device === first.device) add(shares[gap.cause], gap.begin, gap.duration);
      for (const lane of trace.lanes) {
        if (!lane.isDevice || lane.device !== first.device) continue;
        for (let span = lane.first; span < lane.end; ++span)
          add(busy, trace.begins[span], trace.durations[span]);
      }
    }
    for (let x = 0; x < width; ++x) {
      let y = kOverviewHeight;
      const stack = (part, colour) => {
        const height = Math.min(y, part / perPixel * kOverviewHeight);
        c.fillStyle = colour;
        c.fillRect(x, y - height, 1, height);
        y -= height;
      };
      const idle = shares.reduce((sum, share) => sum + share[x], 0);
      stack(Math.min(busy[x], perPixel - idle), this.colour.busy);
      shares.forEach((share, cause) => {
        if (share[x] > 0) stack(share[x], this.causeColours[cause]);
      });
    }
  }
}
