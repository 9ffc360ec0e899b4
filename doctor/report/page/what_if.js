// The graph of a trace run again with other costs, by the rules of replay.cc; or answers that were computed
// beforehand.

const kDispatchEdge = 1, kDispatchAndLoadingEdge = 2, kActivityEdge = 3, kSyncEdge = 4;

class WhatIf {
  constructor(data) {
    this.data = data;
    if (data.graph) this.readGraph(data.graph);
    const {devices} = data;
    this.devices = devices && devices.names.length > 0 ? devices : null;
    if (this.devices !== null && devices.classes) this.classes = Int32Array.from(column(devices.classes));
    if (this.devices !== null && devices.spans)
      this.deviceAnswers = {spans: summed(devices.spans), steps: summed(devices.steps)};
    if (data.grid) this.grid = {...data.grid, spans: summed(data.grid.spans), steps: summed(data.grid.steps)};
  }
  get isExact() {
    return this.points !== undefined;
  }

  readGraph(graph) {
    const counts = column(graph.counts);
    this.points = counts.length;
    this.firsts = new Int32Array(this.points + 1);
    for (let p = 0; p < this.points; ++p) this.firsts[p + 1] = this.firsts[p] + counts[p];
    this.froms = Int32Array.from(column(graph.froms));
    for (let p = 0; p < this.points; ++p) {
      for (let e = this.firsts[p]; e < this.firsts[p + 1]; ++e) this.froms[e] = p - this.froms[e];
    }
    this.kinds = Uint8Array.from(column(graph.kinds));
    this.delays = Float64Array.from(column(graph.delays));
    this.loadings = new Float64Array(this.kinds.length);
    let next = 0;
    const loadings = column(graph.loadings);
    for (let e = 0; e < this.kinds.length; ++e) {
      if (this.kinds[e] === kDispatchAndLoadingEdge) this.loadings[e] = loadings[next++];
    }
    this.alone = new Float64Array(this.points);  // when a point happens that waits for nothing
    const times = summed(graph.root_times);
    summed(graph.roots).forEach((p, i) => {
      this.alone[p] = times[i];
    });
    this.begins = Int32Array.from(summed(graph.begins));
    this.ends = Int32Array.from(summed(graph.ends));
    this.steps = Int32Array.from(summed(graph.steps));
    this.times = new Float64Array(this.points);
    this.activityOf = new Int32Array(this.points);  // of the end of an activity
    this.ends.forEach((p, w) => {
      this.activityOf[p] = w;
    });
  }

  // {dispatch, loading, activities: factors; syncs: whether waits are kept; device: the name of another, or
  // null} to {span, step} in nanoseconds.
  ask(change) {
    return this.isExact ? this.replay(change) : this.interpolate(change);
  }

  replay({dispatch = 1, loading = 1, activities = 1, syncs = true, device = null}) {
    const {firsts, froms, kinds, delays, loadings, times, alone} = this;
    const scale = (ns, factor) => factor === 1 ? ns :
        ns * factor < 0                        ? -Math.round(-ns * factor) :
                                                 Math.round(ns * factor);
    // As floats, which C++ keeps them in.
    const activityScale = Math.fround(activities);
    const factors = device === null ? null : this.devices.factors[this.devices.names.indexOf(device)];
    const scaleOf = (activity) => factors === null ?
        activityScale :
        Math.fround(activityScale * Math.fround(factors[this.classes[activity]]));
    for (let p = 0; p < this.points; ++p) {
      let time = -Infinity;
      for (let e = firsts[p]; e < firsts[p + 1]; ++e) {
        let delay = delays[e];
        switch (kinds[e]) {
          case kDispatchEdge:
            delay = scale(delay, dispatch);
            break;
          case kDispatchAndLoadingEdge:
            delay = scale(delay - loadings[e], dispatch) + scale(loadings[e], loading);
            break;
          case kActivityEdge:
            delay = scale(delay, scaleOf(this.activityOf[p]));
            break;
          case kSyncEdge:
            if (!syncs) continue;
            break;
        }
        const after = times[froms[e]] + delay;
        if (after > time) time = after;
      }
      times[p] = time === -Infinity ? alone[p] : time;
    }
    let first = Infinity, last = -Infinity;
    const stepEnds = [];
    for (let w = 0; w < this.begins.length; ++w) {
      const end = times[this.ends[w]];
      first = Math.min(first, times[this.begins[w]]);
      last = Math.max(last, end);
      const step = this.steps[w];
      if (step >= 0 && !(stepEnds[step] >= end)) stepEnds[step] = end;
    }
    const periods = [];
    const ends = stepEnds.filter((end) => end !== undefined);
    for (let i = 1; i < ends.length; ++i) periods.push(ends[i] - ends[i - 1]);
    periods.sort((a, b) => a - b);
    return {span: last - first, step: periods.length === 0 ? 0 : periods[Math.floor(periods.length / 2)]};
  }

  // Another device is answered alone, with nothing else changed.
  interpolate({dispatch = 1, loading = 1, activities = 1, syncs = true, device = null}) {
    const {grid} = this;
    if (device !== null) {
      const at = this.devices.names.indexOf(device);
      return {span: this.deviceAnswers.spans[at], step: this.deviceAnswers.steps[at]};
    }
    const place = (axis, value) => {
      let i = 0;
      while (i + 2 < axis.length && axis[i + 1] <= value) ++i;
      if (axis.length === 1) return [[0, 1]];
      const part = (value - axis[i]) / (axis[i + 1] - axis[i]);
      return [[i, 1 - part], [i + 1, part]];
    };
    let span = 0, step = 0;
    for (const [w, x] of place(grid.activities, activities)) {
      for (const [l, y] of place(grid.loading, loading)) {
        for (const [d, z] of place(grid.dispatch, dispatch)) {
          const at = (((syncs ? 0 : 1) * grid.activities.length + w) * grid.loading.length + l) *
                  grid.dispatch.length +
              d;
          span += x * y * z * grid.spans[at];
          step += x * y * z * grid.steps[at];
        }
      }
    }
    return {span, step};
  }
}
