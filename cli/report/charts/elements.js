'use strict';
// Elements of a page, and texts for numbers.  Every chart is a function `draw...(element, data, options)`: it adds a
// figure to the element, and returns an object with `figure`, `update(data)` and what else its own comment lists.
// Data is columns of numbers; null is a value that was not saved.  Charts use no global data, so that
// `smdebug report` and `smdebug serve` share them.

// ---- elements: texts are inserted as text, never as HTML ----

function addTo(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    // An attribute would need a content security policy that allows inline styles.
    if (name === 'style') element.style.cssText = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}
function make(name, attributes = {}, ...children) {
  return addTo(document.createElement(name), attributes, children);
}
function makeSvg(name, attributes = {}, ...children) {
  return addTo(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

// Shortens a text in the middle to at most `most` characters: names differ at both ends.
function shortened(text, most) {
  if (text.length <= most) return text;
  const tail = Math.floor((most - 1) / 2);
  return text.slice(0, most - 1 - tail) + '…' + text.slice(text.length - tail);
}

// Creates a selection list with a label.
function chooser(label, options, onChoose, chosen = 0) {
  const select = make('select', {}, options.map((option, i) => make('option', { value: i, selected: i === chosen ? '' : null }, option)));
  select.addEventListener('change', () => onChoose(Number(select.value)));
  return make('label', {}, label, select);
}
function checkbox(label, isOn, onChange) {
  const box = make('input', { type: 'checkbox' });
  box.checked = isOn;
  box.addEventListener('change', () => onChange(box.checked));
  return make('label', {}, box, label);
}
// Creates a slider from 0 to `most`.
function slider(label, most, step, onChange, chosen = 0) {
  const input = make('input', { type: 'range', min: 0, max: most, step, value: chosen });
  input.addEventListener('input', () => onChange(Number(input.value)));
  return make('label', {}, label, input);
}

// ---- numbers ----

// Converts a value of JSON: null, a number, or the text of a non-finite number.
function toNumber(number) {
  return number === null ? null : Number(number);
}
function formatNumber(number) {
  if (number === null || number === undefined) return 'not saved';
  if (Number.isNaN(number)) return 'NaN';
  if (!Number.isFinite(number)) return number > 0 ? '∞' : '−∞';
  if (number === 0) return '0';
  const size = Math.abs(number);
  if (size >= 1e6 || size < 1e-4) return number.toExponential(3).replace(/\.?0+e/, 'e').replace('e+', 'e');
  return String(Number(number.toPrecision(4)));
}
// Steps are shown with all their digits.
function formatWhole(number) {
  return Number.isInteger(number) ? String(number) : formatNumber(number);
}
function formatStep(step, mode, modeStep) {
  const isOfMode = mode && mode !== 'GLOBAL';
  return `step ${step}` + (isOfMode ? ` (${mode}${modeStep === undefined ? '' : ' ' + modeStep})` : '');
}
const countText = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

const STATISTICS = {
  l2: 'l2 norm', l1: 'l1 norm', abs_l1: 'l1 norm', abs_mean: 'mean of |x|', abs_max: 'largest |x|', std: 'standard deviation',
  abs_median: 'median of |x|', min: 'minimum', max: 'maximum',
};
const nameOfStatistic = (name) => STATISTICS[name] || name;

// Groups sorted positions into runs of adjacent ones: [first, last] each.
function stretchesOf(places) {
  const stretches = [];
  for (const place of places) {
    const last = stretches[stretches.length - 1];
    if (last && last[1] === place - 1) last[1] = place;
    else stretches.push([place, place]);
  }
  return stretches;
}

// ---- sorted numbers ----

// Returns the index of the first of the ascending `numbers` that is not below `number`.
function lowerBound(numbers, number) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < number) low = middle + 1;
    else high = middle;
  }
  return low;
}
// Returns the index of the nearest of the ascending `numbers`, or -1 without numbers.
function nearestIndex(numbers, number) {
  const after = lowerBound(numbers, number);
  if (after === 0) return numbers.length ? 0 : -1;
  if (after === numbers.length) return after - 1;
  return number - numbers[after - 1] <= numbers[after] - number ? after - 1 : after;
}
