// Numbers for people, as base/readable.h and the doctor's report write them; elements.

const kGlue = '\u00a0';  // a space at which no line breaks

// Numbers of a sentence stay with their units.
const glued = (text) => text.replace(/(\d) (%|[nµmk]?s|[kMGT]?B)(?!\w)/g, `$1${kGlue}$2`);

// A value halfway between two is rounded to the even one, as C++ does it; toFixed rounds it up.
function fixed(value, digits) {
  const halves = Math.round(value * 2 * 10 ** digits);  // only multiples of 5^digits are exact in binary
  const isBetween = halves % 2 !== 0 && halves % 5 ** digits === 0 && halves / (2 * 10 ** digits) === value;
  return (isBetween ? 2 * Math.round(halves / 4) / 10 ** digits : value).toFixed(digits);
}

function scaled(value, units) {
  const sign = value < 0 ? '−' : '';
  value = Math.abs(value);
  let unit = 0;
  while (value >= 999.5 && unit + 1 < units.length) {
    value /= 1000;
    ++unit;
  }
  if (unit === 0) return `${sign}${Math.round(value)}${kGlue}${units[0]}`.trim();
  return `${sign}${fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0)}${kGlue}${units[unit]}`;
}

const readableNs = (ns) => scaled(ns, ['ns', 'µs', 'ms', 's', 'ks']);
const kFlops = ['FLOP', 'kFLOP', 'MFLOP', 'GFLOP', 'TFLOP', 'PFLOP', 'EFLOP', 'ZFLOP'];
const grouped = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');

function readable(value, unit) {
  if (value === null || value === undefined) return '–';
  if (value === true) return 'yes';
  if (value === false) return 'no';
  if (typeof value === 'string') return value;
  switch (unit) {
    case 'ns':
      return readableNs(value);
    case 'bytes':
      return scaled(value, ['B', 'kB', 'MB', 'GB', 'TB']);
    case 'bytes_per_second':
      return scaled(value, ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s']);
    case 'flops':
      return scaled(value, kFlops);
    case 'flops_per_second':
      return scaled(value, kFlops.map((unit) => `${unit}/s`));
    case 'percent':
      return `${fixed(value, 1)}${kGlue}%`;
    case 'count':
      return Number.isInteger(value) ? grouped(value) : fixed(value, 1);
    default:
      return Number.isInteger(value) ? String(value) : String(+value.toPrecision(3));
  }
}

// el("p", {class: "note", onclick: f}, "text", element, ...). Text is never read as markup.
function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on'))
      element.addEventListener(key.slice(2), value);
    else if (key === 'style')
      element.style.cssText = value;
    else
      element.setAttribute(key, value === true ? '' : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

function figures(facts) {
  return el(
      'dl', {class: 'figures'},
      facts.map(
          ([label, value, unit]) => el('div', {}, el('dt', {}, label), el('dd', {}, readable(value, unit)))));
}
