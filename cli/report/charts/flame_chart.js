// Spans of time that contain each other, such as the events of a step: each row is one deeper than the row above.

const FLAME_ROW = 22;
const LEAST_LABEL = 34;  // pixels of a span that can show some of its name

// Data: {length, spans: [{name, phase, colour, start, duration, depth, beside}]}, in milliseconds: `depth` counts from 0;
// spans `beside` the others have rows of their own below.  Options: title.
function drawFlameChart(element, data, { title }) {
  let { length, spans } = data;
  let rows = 0;
  let first = 0;  // the row of the first span beside the others
  let scale = null;
  let outline = null;
  let svg = makeSvg('svg');
  const surface = make('div', { class: 'surface flame' }, svg);
  const figure = make('figure', {}, make('figcaption', {}, title), surface);
  element.append(figure);
  const rowOf = (span) => span.depth + (span.beside ? first : 0);
  const topOf = (span) => rowOf(span) * FLAME_ROW + (span.beside ? 14 : 0);
  function boxOf({ start, duration, ...span }) {
    return { x: scale(start), y: topOf(span), width: Math.max(scale(start + duration) - scale(start), 1), height: FLAME_ROW - 2 };
  }

  function take(next) {
    ({ length, spans } = next);
    const depthOf = (some) => some.reduce((most, span) => Math.max(most, span.depth + 1), 0);
    first = depthOf(spans.filter((span) => !span.beside));
    rows = first + depthOf(spans.filter((span) => span.beside));
    surface.setAttribute('aria-label', `Flame chart of ${title}: ${countText(spans.length, 'event')} in ${formatNumber(length)} ms`);
  }
  function drawSpan(svgNext, span) {
    const box = boxOf(span);
    svgNext.append(makeSvg('rect', { ...box, rx: 2, class: `span f${span.colour % FILLS}` }));
    if (box.width < LEAST_LABEL) return;
    svgNext.append(makeSvg('text', { class: 'span-label', x: box.x + 5, y: box.y + 14 }, shortened(span.name, Math.max(Math.floor((box.width - 8) / 6.6), 1))));
  }
  function draw(width) {
    const bottom = rows * FLAME_ROW + (rows > first ? 14 : 0) + 4;
    const ends = [0, Math.max(length, ...spans.map((span) => span.start + span.duration))];
    scale = makeScale(ends, 0, width - 14);
    const next = makeSvg('svg', { viewBox: `0 0 ${width} ${bottom + 36}`, 'aria-hidden': 'true' });
    if (rows > first) next.append(makeSvg('text', { class: 'axis-title', x: 0, y: first * FLAME_ROW + 10 }, 'beside the main thread'));
    for (const span of spans) drawSpan(next, span);
    const frame = { left: 0, right: width - 14, top: 0, bottom };
    drawAxes(next, scale, makeScale([], 0, 0), frame, { x: Math.max(2, Math.floor(width / 90)), y: 0 }, { x: 'ms since the beginning of the step' });
    outline = makeSvg('rect', { class: 'span-outline', visibility: 'hidden' });
    next.append(outline);
    svg.replaceWith(next);
    svg = next;
  }
  function findAt(px, py) {
    if (!scale) return null;
    const found = spans.findIndex((span) => {
      const box = boxOf(span);
      return py >= box.y && py <= box.y + box.height && px >= box.x - 1 && px <= box.x + box.width + 1;
    });
    return found < 0 ? null : found;
  }
  // Up and down move between rows, to the span of the row that begins next to this one's beginning.
  function moveRow(place, by) {
    const row = rowOf(spans[place]) + by;
    let best = place;
    let least = Infinity;
    spans.forEach((span, i) => {
      const distance = Math.abs(span.start - spans[place].start);
      if (rowOf(span) === row && distance < least) [best, least] = [i, distance];
    });
    return best;
  }
  take(data);
  explore(surface, surface.getAttribute('aria-label'), {
    help: ' Up and down move between rows.',
    at: findAt,
    move(place, key) {
      const by = { ArrowDown: 1, ArrowUp: -1 }[key];
      if (!spans.length) return null;
      if (by && place !== null) return moveRow(place, by);
      return moveInRow(place, by ? 'Home' : key, spans.length);
    },
    show(i) {
      const span = spans[i];
      const box = boxOf(span);
      for (const [name, value] of Object.entries({ ...box, visibility: 'visible' })) outline.setAttribute(name, value);
      const share = ((span.duration / length) * 100).toFixed(1);
      return {
        x: box.x, y: box.y + FLAME_ROW + 2, title: span.name,
        lines: [
          ...(span.phase && span.phase !== span.name ? [{ label: 'phase', value: span.phase }] : []),
          { label: span.category, value: `${formatNumber(span.duration)} ms, ${share} % of the step` },
          { label: 'from', value: `${formatNumber(span.start)} ms` },
        ],
      };
    },
    hide: () => outline && outline.setAttribute('visibility', 'hidden'),
  });
  const redraw = () => surface.clientWidth && draw(surface.clientWidth);
  const drawing = drawInWidth(surface, draw, redraw);
  return {
    figure,
    update(next) {
      take(next);
      drawing.soon();
    },
    destroy() {
      drawing.stop();
      figure.remove();
    },
  };
}
