// The page of a budget: the same model in a browser, with sliders. One file, no library, no network access.
#include <algorithm>

#include <fmt/format.h>

#include "inspect/budget.h"

namespace pel::inspect {
namespace {

constexpr std::string_view kHead = R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Budget of a step</title>
<style>
:root { color-scheme: light dark; --paper: #f7f6f2; --card: #fff; --ink: #1c2126; --quiet: #69707a; --line: #e2dfd6;
  --cpu: #1f6feb; --device: #d9822b; --replayed: #17885a; --fused: #9a4fd0; --soft: #1f6feb14 }
@media (prefers-color-scheme: dark) { :root { --paper: #121519; --card: #1a1f25; --ink: #e8eaed; --quiet: #98a1ac;
  --line: #2b323a; --cpu: #6cb0ff; --device: #f0a35e; --replayed: #5fd39b; --fused: #c89bf0; --soft: #6cb0ff1c } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif }
main { max-width: 1080px; margin: 0 auto; padding: 36px 24px 40px }
h1 { margin: 0; font-size: 14px; font-weight: 600; color: var(--quiet); letter-spacing: .04em }
#verdict { margin: 4px 0 22px; font-size: 27px; line-height: 1.25; font-weight: 650; letter-spacing: -.01em; min-height: 1.25em;
  text-wrap: balance }
.layout { display: grid; grid-template-columns: 290px 1fr; gap: 20px; align-items: start }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 16px 18px }
.controls label { display: block; margin-bottom: 15px } .controls span { display: flex; justify-content: space-between }
.controls b { font-variant-numeric: tabular-nums; font-weight: 600 } input[type=range] { width: 100%; accent-color: var(--cpu); margin: 4px 0 0 }
.controls small { display: block; color: var(--quiet); font-size: 12.5px; line-height: 1.4 }
.controls .wait { display: grid; grid-template-columns: auto 1fr; gap: 0 9px; margin: 0 } .wait small { grid-column: 2 }
.results { display: grid; grid-template-columns: repeat(4, 1fr); gap: 12px; margin-bottom: 12px }
.results .card { padding: 12px 14px; border-top: 3px solid var(--tone) }
.results p { margin: 0; color: var(--quiet); font-size: 13px } .results output { display: block; font-size: 22px; font-weight: 650;
  font-variant-numeric: tabular-nums } .results em { font-style: normal; font-size: 13px; color: var(--tone); font-weight: 600 }
figure { margin: 0 0 12px } figcaption { color: var(--quiet); font-size: 13px; margin-bottom: 6px }
svg { display: block; width: 100%; height: auto; overflow: visible } svg text { fill: var(--quiet); font-size: 12px }
#plot { cursor: crosshair; touch-action: none }
.key { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin: 0 4px 0 10px; vertical-align: -1px }
@media (max-width: 820px) { .layout { grid-template-columns: 1fr } .results { grid-template-columns: 1fr 1fr } }
</style>
<main>
<h1>Budget of a step</h1>
<div id="verdict" aria-live="polite"></div>
<div class="layout">
<form class="card controls" onsubmit="return false">
<label><span>ops in a step <b id="ops-text"></b></span><input id="ops" type="range" min="0" max="1000"></label>
<label><span>dispatch <b id="dispatch-text"></b></span><input id="dispatch" type="range" min="0" max="1000">
<small>what the CPU needs to issue one op</small></label>
<label><span>kernel <b id="kernel-text"></b></span><input id="kernel" type="range" min="0" max="1000">
<small>what the device needs to run one</small></label>
<label><span>fused to <b id="fused-text"></b></span><input id="fused" type="range" min="0" max="1000">
<small>kernels that do the same work</small></label>
<label><span>replay <b id="replay-text"></b></span><input id="replay" type="range" min="0" max="1000">
<small>to issue one kernel of a recorded graph</small></label>
<label class="wait"><input id="wait" type="checkbox"> the CPU waits for each kernel
<small>a synchronous device, such as the CPU itself</small></label>
</form>
<div>
<div class="results" id="results"></div>
<figure class="card"><figcaption>How the step begins: the CPU issues above, the device runs below</figcaption>
<svg id="time" viewBox="0 0 700 184"></svg></figure>
<figure class="card"><figcaption>Step time against kernel time
<i class="key" style="background:var(--cpu)"></i>as it is<i class="key" style="background:var(--fused)"></i>fused<i class="key"
style="background:var(--replayed)"></i>replayed</figcaption><svg id="plot" viewBox="0 0 700 232"></svg></figure>
</div></div></main>
<script>
)html";

constexpr std::string_view kScript = R"html(
const by = id => document.getElementById(id);
const ranges = { ops: [1, 5000], dispatch: [50, 1e6], kernel: [50, 1e7], replay: [1, 1e5] };  // both ends of a logarithmic slider
const position = (id, v) => 1000 * Math.log(v / ranges[id][0]) / Math.log(ranges[id][1] / ranges[id][0]);
const value = id => ranges[id][0] * (ranges[id][1] / ranges[id][0]) ** (by(id).value / 1000);
const digits = v => v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
function time(ns) {
  let unit = 0;
  while (ns >= 999.5 && unit < 3) { ns /= 1000; ++unit }
  return ns.toFixed(unit ? digits(ns) : 0) + ' ' + ['ns', 'µs', 'ms', 's'][unit];
}
const round = ns => time(ns).replace(/\.0+ /, ' ');
const percent = share => Math.round(100 * share) + ' %';

// The same as step_of in budget.cc.
function step(s, count, dispatch, kernel, once = 0) {
  const issue = once + count * dispatch, device = count * kernel;
  const total = s.wait ? issue + device + count * start.latency : once + dispatch + start.latency + (count - 1) * Math.max(dispatch, kernel) + kernel;
  return { count, issue, device, total };
}
const fusedKernel = (s, kernel) => s.fusedKernel ? s.fusedKernel * kernel / s.givenKernel : kernel * s.ops / s.fused;
const variants = (s, kernel) => [
  step(s, s.ops, s.dispatch, kernel), step(s, s.fused, s.dispatch, fusedKernel(s, kernel)),
  step(s, s.ops, s.replay, kernel, s.dispatch), step(s, s.fused, s.replay, fusedKernel(s, kernel), s.dispatch)];
const names = ['as it is', 'fused', 'replayed', 'fused and replayed'];
const tones = ['cpu', 'fused', 'replayed', 'quiet'];

function verdict(s, now) {
  if (s.wait) return `The CPU waits for each kernel, so every dispatch counts: ${percent(now.issue / now.total)} of the step.`;
  if (s.dispatch > s.kernel) return `Bound by dispatch: the device is idle for ${percent(1 - now.device / now.total)} of the step.`;
  return `Bound by kernels: the device is busy for ${percent(now.device / now.total)} of the step.`;
}

function lane(label, y, count, dispatch, kernel, once, s, scale, tone) {
  let cpu = once, device = 0, out = `<text x="0" y="${y + 26}">${label}</text>`;
  const box = (from, to, top, colour, soft) => {
    const left = 84 + from * scale, width = Math.max(1, (to - from) * scale - 1.2);
    return left > 700 ? '' : `<rect x="${left.toFixed(1)}" y="${top}" width="${Math.min(width, 700 - left).toFixed(1)}" height="17" rx="2.5"
      fill="var(--${colour})" opacity="${soft ? .35 : 1}"/>`;
  };
  if (once) out += box(0, once, y, tone, true);
  for (let i = 0; i < Math.min(count, 400) && 84 + cpu * scale < 700; ++i) {
    out += box(cpu, cpu + dispatch, y, tone);
    cpu += dispatch;
    const begin = Math.max(cpu, device);
    device = begin + kernel;
    out += box(begin, device, y + 21, 'device');
    if (s.wait) cpu = device;
  }
  return out;
}

function drawTime(s) {
  const span = 9 * Math.max(s.dispatch, s.kernel) + s.dispatch + s.kernel, scale = 616 / (s.wait ? 6 * (s.dispatch + s.kernel) : span);
  by('time').innerHTML = lane('as it is', 2, s.ops, s.dispatch, s.kernel, 0, s, scale, 'cpu') +
    lane('fused', 58, s.fused, s.dispatch, fusedKernel(s, s.kernel), 0, s, scale, 'fused') +
    lane('replayed', 114, s.ops, s.replay, s.kernel, s.dispatch, s, scale, 'replayed') +
    `<text x="84" y="176">0</text><text x="700" y="176" text-anchor="end">${time(616 / scale)}</text>`;
}

const frame = { left: 84, width: 600, top: 8, height: 200 };
function axes(s) {
  const x0 = Math.min(s.dispatch / 32, s.kernel / 2), x1 = Math.max(s.dispatch * 32, s.kernel * 2);
  const low = Math.min(...variants(s, x0).slice(0, 3).map(v => v.total)) / 1.3, high = variants(s, x1)[0].total * 1.3;
  return { x0, x1, low, high, x: k => frame.left + frame.width * Math.log(k / x0) / Math.log(x1 / x0),
    y: t => frame.top + frame.height * (1 - Math.log(t / low) / Math.log(high / low)) };
}
function drawPlot(s) {
  const a = axes(s);
  let out = '';
  for (let e = Math.ceil(Math.log10(a.x0)); 10 ** e <= a.x1; ++e)
    out += `<line x1="${a.x(10 ** e)}" x2="${a.x(10 ** e)}" y1="8" y2="208" stroke="var(--line)"/>
      <text x="${a.x(10 ** e)}" y="226" text-anchor="middle">${round(10 ** e)}</text>`;
  for (let e = Math.ceil(Math.log10(a.low)); 10 ** e <= a.high; ++e)
    out += `<line x1="84" x2="684" y1="${a.y(10 ** e)}" y2="${a.y(10 ** e)}" stroke="var(--line)"/>
      <text x="76" y="${a.y(10 ** e) + 4}" text-anchor="end">${round(10 ** e)}</text>`;
  const knee = a.x(s.dispatch);
  if (!s.wait) out += `<rect x="84" y="8" width="${Math.max(0, knee - 84)}" height="200" fill="var(--soft)"/>
    <line x1="${knee}" x2="${knee}" y1="8" y2="208" stroke="var(--quiet)" stroke-dasharray="3 4"/>
    <text x="${knee + 8}" y="202">crossover at ${time(s.dispatch)}</text>
    ${knee > 290 ? '<text x="96" y="26">faster kernels gain nothing here</text>' : ''}`;
  [2, 1, 0].forEach(which => {
    const points = [];
    for (let i = 0; i <= 120; ++i) {
      const kernel = a.x0 * (a.x1 / a.x0) ** (i / 120);
      points.push(a.x(kernel).toFixed(1) + ',' + a.y(variants(s, kernel)[which].total).toFixed(1));
    }
    out += `<polyline points="${points.join(' ')}" fill="none" stroke="var(--${tones[which]})" stroke-width="2.5" stroke-linejoin="round"/>`;
  });
  const now = variants(s, s.kernel)[0];
  out += `<circle cx="${a.x(s.kernel)}" cy="${a.y(now.total)}" r="6.5" fill="var(--ink)" stroke="var(--card)" stroke-width="2"/>`;
  by('plot').innerHTML = out;
}

function draw() {
  const s = { ops: Math.round(value('ops')), dispatch: value('dispatch'), kernel: value('kernel'), replay: value('replay'),
    wait: by('wait').checked, fusedKernel: start.fusedKernel, givenKernel: start.kernel };
  s.fused = Math.max(1, Math.round(s.ops ** (by('fused').value / 1000)));
  by('ops-text').textContent = s.ops;
  by('fused-text').textContent = s.fused;
  for (const id of ['dispatch', 'kernel', 'replay']) by(id + '-text').textContent = time(s[id]);
  const all = variants(s, s.kernel);
  by('verdict').textContent = verdict(s, all[0]);
  by('results').innerHTML = all.map((v, i) => `<div class="card" style="--tone:var(--${tones[i]})"><p>${names[i]}</p>
    <output>${time(v.total)}</output><em>${i ? (all[0].total / v.total).toFixed(2) + '×' : v.count + (v.count == 1 ? ' kernel' : ' kernels')}</em></div>`).join('');
  drawTime(s);
  drawPlot(s);
  return s;
}

for (const id in ranges) {  // each slider reaches its start value
  ranges[id] = [Math.min(ranges[id][0], start[id]), Math.max(ranges[id][1], start[id])];
  by(id).step = 'any';
  by(id).value = position(id, start[id]);
}
by('fused').step = 'any';
by('fused').value = start.ops > 1 ? 1000 * Math.log(start.fused) / Math.log(start.ops) : 0;
by('wait').checked = start.wait;
document.querySelectorAll('input').forEach(input => input.addEventListener('input', draw));
const pick = event => {
  if (event.type == 'pointermove' && !event.buttons) return;
  const box = by('plot').getBoundingClientRect(), a = axes(draw());
  const x = ((event.clientX - box.left) / box.width * 700 - frame.left) / frame.width;
  by('kernel').value = position('kernel', a.x0 * (a.x1 / a.x0) ** Math.min(1, Math.max(0, x)));
  draw();
};
by('plot').addEventListener('pointerdown', pick);
draw();
</script>
</html>
)html";

}  // namespace

std::string Budget::html() const {
  const BudgetOptions& o = options;
  const std::int64_t fused_to = o.fused_to.value_or(std::max<std::int64_t>(1, o.ops / 4));
  std::string page(kHead);
  page += fmt::format(
      "const start = {{ ops: {}, dispatch: {}, kernel: {}, fused: {}, fusedKernel: {}, replay: {}, latency: "
      "{}, "
      "wait: {} }};",
      o.ops, o.dispatch_ns, o.kernel_ns, fused_to, o.fused_kernel_ns.value_or(0), std::max(1.0, o.replay_ns),
      o.latency_ns, o.waiting == Waiting::Yes);
  page += kScript;
  return page;
}

}  // namespace pel::inspect
