// Spans, launches and gaps of the trace, and the rows in which they are drawn.

const kRowHeight = 17, kTallRowHeight = 24, kLaneGap = 10, kHeadHeight = 22, kFoldedHeight = 6;

class Trace {
  constructor(data) {
    this.length = Math.max(1, data.length);
    this.texts = data.texts;
    this.steps = data.steps;
    this.causes = data.causes;
    this.leftOut = data.left_out;
    this.begins = Float64Array.from(summed(data.begins));
    this.durations = Float64Array.from(column(data.durations));
    this.kinds = Int32Array.from(column(data.kind));
    this.count = this.begins.length;
    const names = summed(data.kinds.names), categories = column(data.kinds.categories);
    const titles = column(data.kinds.titles), families = column(data.kinds.families);
    this.kindTable = names.map((name, k) => ({
                                 name: this.texts[name],
                                 category: this.texts[categories[k]],
                                 title: titles[k] < 0 ? '' : this.texts[titles[k]],
                                 family: families[k] < 0 ? '' : this.texts[families[k]],
                               }));
    this.readLanes(data);
    this.readLaunches(data);
    this.stacks = this.sparse(data.stacks);
    this.shapes = this.sparse(data.shapes);
    this.readGaps(data.gaps);
    this.hasPython = this.kindTable.some((kind) => kind.category === 'python_function');
  }

  readLanes(data) {
    this.lanes = [];
    this.laneOf = new Int32Array(this.count);
    let first = 0;
    for (const [name, isDevice, device, deviceName, count] of data.lanes) {
      if (count > 0) {
        this.laneOf.fill(this.lanes.length, first, first + count);
        this.lanes.push({name, isDevice, device, deviceName, first, end: first + count});
      }
      first += count;
    }
    this.firstActivity = this.count;
    for (const lane of this.lanes)
      if (lane.isDevice) this.firstActivity = Math.min(this.firstActivity, lane.first);
    this.parents = new Int32Array(this.count).fill(-1);
    column(data.parents).forEach((back, i) => {
      if (back > 0) this.parents[i] = i - back;
    });
  }

  readLaunches(data) {
    this.launchOf = new Int32Array(this.count).fill(-1);
    this.activitiesOf = new Map();
    summed(data.launches).forEach((call, i) => {
      const activity = this.firstActivity + i;
      this.launchOf[activity] = call;
      if (call < 0) return;
      if (!this.activitiesOf.has(call)) this.activitiesOf.set(call, []);
      this.activitiesOf.get(call).push(activity);
    });
    this.opOf = new Map();  // of activities whose op is not around their launch
    const activities = summed(data.ops[0]), ops = summed(data.ops[1]);
    activities.forEach((activity, i) => this.opOf.set(activity, ops[i]));
  }

  sparse([spans, texts]) {
    const values = column(texts);
    return new Map(summed(spans).map((span, i) => [span, values[i]]));
  }

  readGaps(gaps) {
    const devices = summed(gaps.devices), begins = summed(gaps.begins), durations = column(gaps.durations);
    const causes = column(gaps.causes), blames = summed(gaps.blames), nexts = summed(gaps.nexts);
    this.gaps = devices.map((device, i) => ({
                              device,
                              begin: begins[i],
                              duration: durations[i],
                              cause: causes[i],
                              blame: blames[i],
                              next: nexts[i]
                            }));
  }

  kind(span) {
    return this.kindTable[this.kinds[span]];
  }
  name(span) {
    return this.kind(span).name;
  }
  title(span) {
    return this.kind(span).title || this.kind(span).name;
  }
  end(span) {
    return this.begins[span] + this.durations[span];
  }
  isActivity(span) {
    return span >= this.firstActivity;
  }

  // The ops around a span of the host, or around the launch of an activity: the outermost first.
  opsOf(span) {
    let at = span;
    if (this.isActivity(span)) at = this.opOf.has(span) ? this.opOf.get(span) : this.launchOf[span];
    const ops = [];
    for (; at >= 0; at = this.parents[at]) {
      const {category, name} = this.kind(at);
      if (category === 'cpu_op' && !name.startsWith('ProfilerStep')) ops.unshift(at);
    }
    return ops;
  }

  // The innermost frame first.
  stackOf(span) {
    const frames = [];
    for (let at = this.isActivity(span) ? this.launchOf[span] : span; at >= 0; at = this.parents[at]) {
      if (this.kind(at).category === 'python_function')
        frames.push(this.name(at));
      else if (frames.length === 0 && this.stacks.has(at))
        return this.texts[this.stacks.get(at)].split(';').filter((frame) => frame !== '');
    }
    return frames;
  }

  // All that was launched inside a span of the host, as pairs of call and activity.
  launchesIn(span) {
    const pairs = [];
    const lane = this.lanes[this.laneOf[span]], end = this.end(span);
    for (let at = span; at < lane.end && (at === span || this.begins[at] < end); ++at) {
      for (const activity of this.activitiesOf.get(at) || []) pairs.push([at, activity]);
    }
    return pairs;
  }
}

// Where rows are: devices above, each with its idle time and streams, then threads of the host.
class Layout {
  constructor(trace, {showsPython, folded, rowHeight}) {
    this.rowHeight = rowHeight;
    this.trace = trace;
    this.depths = new Int16Array(trace.count);
    this.isHidden = trace.kindTable.map((kind) => kind.category === 'python_function' && !showsPython);
    this.blocks = [];
    this.blockOfLane = [];
    let y = 0;
    const place = (block) => {
      block.isFolded = folded.has(block.key);
      block.y = y;
      block.height = block.isFolded ? kFoldedHeight + 12 : Math.max(1, block.rows.length) * rowHeight;
      y += block.height + kLaneGap;
      this.blocks.push(block);
    };
    const devices = [...new Set(trace.lanes.filter((lane) => lane.isDevice).map((lane) => lane.device))];
    for (const device of devices) {
      const gaps = trace.gaps.map((gap, i) => i).filter((i) => trace.gaps[i].device === device);
      const streams = trace.lanes.filter((lane) => lane.isDevice && lane.device === device);
      const head = `device ${device}` + (streams[0].deviceName ? ` · ${streams[0].deviceName}` : '');
      place({key: `idle ${device}`, name: 'idle', head, isGaps: true, rows: [gaps]});
      for (const lane of streams) this.placeLane(lane, `${device} ${lane.name}`, this.packed(lane), place);
    }
    let isFirst = true;
    for (const lane of trace.lanes) {
      if (lane.isDevice) continue;
      const rows = this.nested(lane);
      if (rows.length === 0) continue;
      this.placeLane(lane, lane.name + lane.first, rows, place, isFirst ? 'host' : '');
      isFirst = false;
    }
    this.height = y;
  }

  placeLane(lane, key, rows, place, head = '') {
    const block = {key, name: lane.name, head, lane, rows};
    this.blockOfLane[this.trace.lanes.indexOf(lane)] = block;
    place(block);
  }

  // Activities of a stream may overlap: each goes to the first row that is free.
  packed(lane) {
    const rows = [], ends = [];
    for (let span = lane.first; span < lane.end; ++span) {
      let row = ends.findIndex((end) => end <= this.trace.begins[span]);
      if (row < 0) row = ends.push(0) - 1;
      ends[row] = this.trace.end(span);
      (rows[row] = rows[row] || []).push(span);
      this.depths[span] = row;
    }
    return rows;
  }

  nested(lane) {
    const rows = [];
    const {parents, kinds} = this.trace;
    for (let span = lane.first; span < lane.end; ++span) {
      let parent = parents[span];
      while (parent >= 0 && this.isHidden[kinds[parent]]) parent = parents[parent];
      this.depths[span] = parent < 0 ? 0 : this.depths[parent] + 1;
      if (this.isHidden[kinds[span]]) continue;
      (rows[this.depths[span]] = rows[this.depths[span]] || []).push(span);
    }
    return rows;
  }

  isShown(span) {
    return !this.isHidden[this.trace.kinds[span]];
  }
  // The top of a span's row.
  yOf(span) {
    const block = this.blockOfLane[this.trace.laneOf[span]];
    if (block === undefined) return 0;
    return block.y + (block.isFolded ? 6 : this.depths[span] * this.rowHeight);
  }
}
