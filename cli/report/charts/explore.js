// The pointer and the keyboard on charts: tips, zoom, and what charts of a group share.

let lastId = 0;
const announcer = make('div', { class: 'hidden', role: 'status' });
document.body.append(announcer);

// Adds a tip to `surface` that describes the place under the pointer or cursor.
// `at(x, y)` returns the place at these pixels of the surface, or null.  `move(place, key)` returns
// the place next to one (for null: the first), or null for a key that does not move.  `show(place)`
// draws a cursor, and returns the position and contents of the tip: {x, y, title, lines: [{label,
// value, sample}]}.  `hide()` removes the cursor.  `select(place)`, which may be missing, is called for a click
// and for Enter.  `help` describes further keys.
function explore(surface, label, { at, move, show, hide, select, help = '' }) {
  const tip = make('div', { class: 'tip', hidden: '', 'aria-hidden': 'true' });
  const keys = make('span', { class: 'hidden', id: `help-${++lastId}` }, `Arrow keys move through the values.${help}`);
  for (const [name, value] of Object.entries({ tabindex: 0, role: 'img', 'aria-label': label, 'aria-describedby': keys.id })) {
    surface.setAttribute(name, value);
  }
  surface.after(keys);
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
    const width = surface.clientWidth;  // before anything changes
    const told = show(place);
    tip.replaceChildren(make('b', {}, told.title), ...told.lines.map((line) =>
      make('div', {}, line.sample ? line.sample.cloneNode(true) : null, line.label ? `${line.label}: ${line.value}` : line.value)));
    tip.hidden = false;
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
  if (select) surface.addEventListener('click', () => place !== null && select(place));
  surface.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') return leave();
    if (event.key === 'Enter' && select && place !== null) return select(place);
    const next = move(place, event.key);
    if (next === null) return undefined;
    event.preventDefault();
    const told = go(next);
    if (told) announcer.textContent = [told.title, ...told.lines.map((line) => `${line.label || ''} ${line.value}`)].join('; ');
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

// ---- groups of charts on one axis: they share a cursor, and those that zoom together a range ----

const groups = new Map();
// Adds a chart to a group.  `chart` has `follow(x)`, which draws the cursor of another chart or removes it for null,
// and `zoom(range)`, if it zooms with the others.  Returns the functions that tell the others.
function joinGroup(name, chart) {
  if (!name) return { point() {}, zoom() {}, leave() {} };
  if (!groups.has(name)) groups.set(name, new Set());
  const members = groups.get(name);
  members.add(chart);
  const others = (tell) => members.forEach((member) => member !== chart && tell(member));
  return {
    point: (x) => others((member) => member.follow(x)),
    zoom: (range) => others((member) => member.zoom && member.zoom(range)),
    leave: () => members.delete(chart),
  };
}

// Lets a drag over `surface` select a range.  `numberAt(px)` converts a pixel; `frame()` returns the pixels
// {left, right, top, bottom} of the plot.  `onRange([from, to])` is called at the end of a drag, with null for a
// double click or the button that shows all.  Returns `keys(key, place, whole)`, which zooms by + - 0, and `show(range)`.
const LEAST_DRAG = 4;  // pixels
function zoomByDrag(surface, { numberAt, frame, onRange }) {
  const band = make('div', { class: 'zoom-band', hidden: '' });
  const button = make('button', { type: 'button', class: 'zoom-out', hidden: '' }, 'Show all');
  let start = null;
  surface.append(band);
  surface.after(button);
  const pixel = (event) => {
    const { left, right } = frame();
    return Math.min(Math.max(event.clientX - surface.getBoundingClientRect().left, left), right);
  };
  let wasDrag = false;
  surface.addEventListener('pointerdown', (event) => {
    wasDrag = false;
    if (event.button !== 0 || event.pointerType === 'touch') return;
    start = pixel(event);
    surface.setPointerCapture(event.pointerId);
  });
  surface.addEventListener('pointermove', (event) => {
    if (start === null) return;
    const { top, bottom } = frame();
    const [from, to] = [start, pixel(event)].sort((a, b) => a - b);
    Object.assign(band.style, { left: `${from}px`, width: `${to - from}px`, top: `${top}px`, height: `${bottom - top}px` });
    band.hidden = to - from < LEAST_DRAG;
  });
  const end = (event) => {
    if (start === null) return;
    const [from, to] = [start, pixel(event)].sort((a, b) => a - b);
    start = null;
    band.hidden = true;
    wasDrag = event.type === 'pointerup' && to - from >= LEAST_DRAG;
    if (wasDrag) onRange([numberAt(from), numberAt(to)]);
  };
  surface.addEventListener('pointerup', end);
  surface.addEventListener('pointercancel', end);
  // The end of a drag selects nothing.
  surface.addEventListener('click', (event) => wasDrag && event.stopImmediatePropagation(), true);
  surface.addEventListener('dblclick', () => onRange(null));
  button.addEventListener('click', () => onRange(null));
  return {
    show: (range) => { button.hidden = range === null; },
    // Returns true if the key zooms.
    keys(key, place, [from, to]) {
      if (key === '0') onRange(null);
      const factor = { '+': 0.5, '-': 2 }[key];
      if (factor) onRange([place - (place - from) * factor, place + (to - place) * factor]);
      return key === '0' || factor !== undefined;
    },
  };
}

// ---- size ----

// Returns a function that calls `draw` before the next picture of the screen, once for several calls.
function once(draw) {
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      draw();
    });
  };
}

// Calls `draw(width)` now and whenever the width of the element changes; for print, with the width of a page.
// Returns {soon, stop}: soon() calls `redraw` before the next picture of the screen, or, for an element that is not on
// the screen, when it comes there or is printed.
const drawn = new Set();
function drawInWidth(element, draw, redraw = () => draw(Math.round(element.clientWidth))) {
  let width = 0;
  let isSeen = true;
  let isStale = false;
  const update = (next) => {
    if (next > 0 && next !== width) draw((width = next));
  };
  const finish = () => {
    if (isStale) redraw();
    isStale = false;
  };
  const soon = once(() => {
    isStale = true;
    if (isSeen) finish();
  });
  const sizes = new ResizeObserver(() => update(Math.round(element.clientWidth)));
  const places = new IntersectionObserver((entries) => {
    isSeen = entries[entries.length - 1].isIntersecting;
    if (isSeen) finish();
  });
  sizes.observe(element);
  places.observe(element);
  const entry = {
    print() {
      update(element.clientWidth);
      finish();
    },
  };
  drawn.add(entry);
  return {
    soon,
    stop() {
      sizes.disconnect();
      places.disconnect();
      drawn.delete(entry);
    },
  };
}
window.addEventListener('beforeprint', () => drawn.forEach((entry) => entry.print()));
