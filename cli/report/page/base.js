'use strict';
const report = JSON.parse(document.getElementById('data').textContent);

// ---- elements: texts are inserted as text, never as HTML ----

function addTo(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
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

// ---- numbers ----

// Converts a value of the data: null, a number, or the text of a non-finite number.
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
function formatStep(step, mode, modeStep) {
  const isOfMode = mode && mode !== 'GLOBAL';
  return `step ${step}` + (isOfMode ? ` (${mode}${modeStep === undefined ? '' : ' ' + modeStep})` : '');
}

// ---- findings ----

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
// Returns the first step with findings of each rule.
function firstFindings() {
  return report.rules.map((rule, number) => ({ step: rule.findings[0].step, label: String(number + 1) }));
}

// ---- tooltips for the pointer and the keyboard ----

let lastId = 0;
const announcer = make('div', { class: 'hidden', role: 'status' });
document.body.append(announcer);

// Adds a tip to `surface`, inside `figure`, that describes the place under the pointer or cursor.
// `at(x, y)` returns the place at these pixels of the surface, or null.  `move(place, key)` returns
// the place next to one (for null: the first), or null for a key that does not move.  `show(place)`
// draws a cursor, and returns the position and contents of the tip: {x, y, title, lines: [{label,
// value, sample}]}.  `hide()` removes the cursor.
function explore(figure, surface, label, { at, move, show, hide }) {
  const tip = make('div', { class: 'tip', hidden: '', 'aria-hidden': 'true' });
  const help = make('span', { class: 'hidden', id: `help-${++lastId}` }, 'Arrow keys move through the values.');
  for (const [name, value] of Object.entries({ tabindex: 0, role: 'img', 'aria-label': label, 'aria-describedby': help.id })) {
    surface.setAttribute(name, value);
  }
  surface.after(help);
  surface.append(tip);
  let place = null;
  function leave() {
    place = null;
    tip.hidden = true;
    hide();
  }
  function go(next) {
    if (next === null) return leave();
    place = next;
    const told = show(place);
    tip.replaceChildren(make('b', {}, told.title), ...told.lines.map((line) =>
      make('div', {}, line.sample ? line.sample.cloneNode(true) : null, line.label ? `${line.label}: ${line.value}` : line.value)));
    tip.hidden = false;
    const width = surface.clientWidth;
    const isRight = told.x > width / 2;
    tip.style.left = isRight ? '' : `${told.x + 12}px`;
    tip.style.right = isRight ? `${width - told.x + 12}px` : '';
    tip.style.top = `${Math.max(0, told.y)}px`;
    return told;
  }
  surface.addEventListener('pointermove', (event) => {
    const box = surface.getBoundingClientRect();
    go(at(event.clientX - box.left, event.clientY - box.top));
  });
  surface.addEventListener('pointerleave', leave);
  surface.addEventListener('blur', leave);
  surface.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') return leave();
    const next = move(place, event.key);
    if (next === null) return undefined;
    event.preventDefault();
    const told = go(next);
    announcer.textContent = [told.title, ...told.lines.map((line) => `${line.label || ''} ${line.value}`)].join('; ');
    return undefined;
  });
}
// Returns the new place after a key, for places in a row.
function moveInRow(place, key, count) {
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  const by = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10 }[key];
  if (by === undefined) return null;
  return place === null ? 0 : Math.min(Math.max(place + by, 0), count - 1);
}

// Calls `draw(width)` now and whenever the width of the element changes; for print, with the width of a page.
const drawn = [];
function drawInWidth(element, draw) {
  let width = 0;
  const update = (next) => {
    if (next > 0 && next !== width) draw((width = next));
  };
  new ResizeObserver(() => update(Math.round(element.clientWidth))).observe(element);
  drawn.push({ element, update });
}
window.addEventListener('beforeprint', () => drawn.forEach(({ element, update }) => update(element.clientWidth)));

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
