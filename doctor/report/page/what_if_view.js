// Sliders for what-if, each with the curve of what it would change.

const kCurvePoints = 17;
const kUnchanged = {
  dispatch: 1,
  loading: 1,
  activities: 1,
  syncs: true,
  device: null
};
const kNothingToReplay = 'No device activity in this trace has a known launch: there is nothing to replay.';

class WhatIfView {
  constructor(data, root) {
    this.root = root;
    if (data === null || data.refusal) {
      const why = data === null ? kNothingToReplay : data.refusal;
      root.append(el('div', {class: 'what-if'}, el('p', {class: 'refusal'}, why)));
      return;
    }
    this.data = data;
    this.model = new WhatIf(data);
    this.change = {...kUnchanged};
    this.knobs = [
      {key: 'dispatch', label: 'Dispatch', text: 'what the host spends in launches and between them'},
      {
        key: 'activities',
        label: 'Kernels and copies',
        text: 'how long kernels and copies take; collectives stay'
      },
    ];
    if (data.has_loading)
      this.knobs.push({key: 'loading', label: 'Loading', text: 'what the host spends in loading data'});
    this.build();
    this.update();
  }

  build() {
    this.answer = el('div', {class: 'answer', 'aria-live': 'polite'});
    this.bars = el('div', {class: 'bars'});
    const knobs = this.knobs.map((knob) => this.buildKnob(knob));
    this.syncs = el('input', {
      type: 'checkbox',
      id: 'knob-syncs',
      checked: true,
      disabled: !this.data.has_syncs,
      onchange: () => this.turn({syncs: this.syncs.checked})
    });
    const lines =
        [el('div', {class: 'knob line'}, el('label', {'for': 'knob-syncs'}, this.syncs, 'The host waits'),
            el('p', {},
               this.data.has_syncs ? 'for the device; without it, calls that wait return at once' :
                                     'no call of this trace waits'),
            this.withoutSyncs = el('p', {class: 'effect'}))];
    if (this.data.devices) lines.push(this.buildDevices());
    const ask = (text, change) => el('button', {onclick: () => this.set(change)}, text);
    const presets = [
      ask('As measured', {}),
      ask('Launches cost half', {dispatch: 0.5}),
      ask('Launches cost nothing, as in a graph', {dispatch: 0}),
      ask('Activities take half the time', {activities: 0.5}),
    ];
    if (this.data.has_syncs) presets.push(ask('Never wait', {syncs: false}));
    if (this.data.has_loading) presets.push(ask('Data is there', {loading: 0}));
    this.root.append(el(
        'div', {class: 'what-if'}, this.answer, this.bars, el('div', {class: 'knobs'}, knobs), lines,
        el('div', {class: 'presets'}, presets),
        el('p', {class: 'note'},
           'The trace is run again as a graph of what had to happen before what. ' +
               `With nothing changed it takes ${readableNs(this.data.unchanged[0])}; measured were ${
                   readableNs(this.data.measured[0])}. ` +
               (this.model.isExact ? 'Every answer is computed on this page.' :
                                     'The graph is long: answers between computed ones are interpolated.'))));
  }

  buildKnob(knob) {
    knob.value = el('span');
    knob.input = el('input', {
      type: 'range',
      min: 0,
      max: 2,
      step: 0.05,
      value: 1,
      id: `knob-${knob.key}`,
      oninput: () => {
        this.turn({[knob.key]: Number(knob.input.value)});
      }
    });
    knob.svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    knob.svg.setAttribute('viewBox', '0 0 200 64');
    knob.svg.setAttribute('preserveAspectRatio', 'none');
    knob.svg.setAttribute('aria-hidden', 'true');
    return el(
        'div', {class: 'knob'}, el('label', {'for': `knob-${knob.key}`}, knob.label, knob.value),
        el('p', {}, knob.text), knob.svg, knob.input, knob.ends = el('div', {class: 'ends'}));
  }

  buildDevices() {
    const {refusal, names, too_short_ns} = this.data.devices;
    this.device =
        el('select', {
          id: 'knob-device',
          disabled: refusal !== '',
          onchange: () => this.turn({device: this.device.value === '' ? null : this.device.value})
        },
           el('option', {value: ''}, 'as measured'), names.map((name) => el('option', {value: name}, name)));
    const rule =
        `a roofline estimate: matmuls by the peaks of data sheets, other activities by bandwidth; what takes
        at most ${readableNs(too_short_ns)} keeps its time`;
    return el(
        'div', {class: 'knob line'}, el('label', {'for': 'knob-device'}, 'Device'), this.device,
        el('p', {}, refusal !== '' ? `cannot be changed: ${refusal}` : rule));
  }

  // Answers that were computed beforehand know another device only with nothing else changed.
  turn(change) {
    const isAlone = !this.model.isExact && 'device' in change && change.device !== null;
    const others = this.model.isExact ? this.change : {...this.change, device: null};
    this.set({...(isAlone ? {} : others), ...change});
  }
  set(change) {
    this.change = {...kUnchanged, ...change};
    for (const knob of this.knobs) knob.input.value = this.change[knob.key];
    this.syncs.checked = this.change.syncs;
    if (this.device) this.device.value = this.change.device === null ? '' : this.change.device;
    this.update();
  }

  update() {
    const [measured, measuredStep] = this.data.measured;
    const {span, step} = this.model.ask(this.change);
    const faster = span > 0 ? measured / span : Infinity;
    const figure = (label, text, size) =>
        el('div', {}, el('span', {class: size}, text), el('small', {}, label));
    this.answer.replaceChildren(
        figure('from the first activity to the end of the last', readableNs(span), 'big'),
        figure('times as fast', isFinite(faster) ? faster.toFixed(2) : '–', 'mid'),
        figure(
            'saved',
            `${(100 * (1 - span / measured)).toFixed(1)} %`.replace(/^-0\.0/, '0.0').replace('-', '−'),
            'mid'));
    if (measuredStep > 0)
      this.answer.append(figure(`a step, ${readableNs(measuredStep)} measured`, readableNs(step), 'mid'));
    const longest = Math.max(measured, span);
    const bar = (label, ns, isNow) =>
        [el('span', {}, label), el('i', {class: isNow ? 'now' : '', style: `width:${100 * ns / longest}%`})];
    this.bars.replaceChildren(...bar('measured', measured, false), ...bar('then', span, true));
    for (const knob of this.knobs) knob.value.textContent = `× ${this.change[knob.key].toFixed(2)}`;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.drawCurves(), 60);
  }

  // All curves have one scale: which knob matters is seen at once.
  drawCurves() {
    const alone = this.model.isExact ? {} : {device: null};
    const curves = this.knobs.map(
        (knob) => Array.from(
            {length: kCurvePoints},
            (_, i) =>
                this.model.ask({...this.change, ...alone, [knob.key]: 2 * i / (kCurvePoints - 1)}).span));
    const top = Math.max(...curves.flat(), 1);
    if (this.data.has_syncs) {
      const [kept, left] =
          [true, false].map((syncs) => this.model.ask({...this.change, ...alone, syncs}).span);
      this.withoutSyncs.textContent = `${readableNs(kept)} with waits, ${readableNs(left)} without`;
    }
    const y = (ns) => 60 - 56 * ns / top;
    this.knobs.forEach((knob, k) => {
      const path = curves[k]
                       .map(
                           (ns, i) => `${i === 0 ? 'M' : 'L'}${(200 * i / (kCurvePoints - 1)).toFixed(1)} ${
                               y(ns).toFixed(1)}`)
                       .join('');
      const at = 100 * this.change[knob.key];
      knob.ends.replaceChildren(
          el('span', {}, `×0: ${readableNs(curves[k][0])}`), el('span', {}, '×1'),
          el('span', {}, `×2: ${readableNs(curves[k][kCurvePoints - 1])}`));
      knob.svg.innerHTML = `<line x1="0" x2="200" y1="60" y2="60"/><line x1="${at}" x2="${
          at}" y1="0" y2="60"/><path d="${path}"/>`;
    });
  }
}
