// The steps of the findings of each rule, in a row each.

// Data: {first, last: the range of steps, lanes: [{label, badge, href, isLook, what: of a step, count, steps}]}.
function drawLanes(element, data) {
  const lanes = make('div', { class: 'lanes' });
  element.append(lanes);
  function update({ first, last, lanes: rows }) {
    const share = (step) => (last > first ? (step - first) / (last - first) : 0.5) * 994;
    lanes.replaceChildren(...rows.flatMap((row) => {
      const ends = [row.steps[0], row.steps[row.steps.length - 1]];
      const lane = makeSvg('svg', {
        class: row.isLook ? 'lane look' : 'lane', viewBox: '0 0 1000 18', preserveAspectRatio: 'none', role: 'img',
        'aria-label': `${row.label}: ${row.count} ${row.what}, the first at step ${ends[0]}, the last at step ${ends[1]}`,
      }, ...row.steps.map((step) => makeSvg('rect', { x: share(step), y: 0, width: 6, height: 18 }, makeSvg('title', {}, `step ${step}`))));
      return [make('a', { href: row.href, class: row.isLook ? 'look' : null }, make('span', { class: 'badge' }, row.badge), ` ${row.label}`), lane];
    }), make('div', { class: 'ends' }, make('span', {}, `step ${first}`), make('span', {}, `step ${last}`)));
  }
  update(data);
  return { figure: lanes, update, destroy: () => lanes.remove() };
}
