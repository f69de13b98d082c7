// The importance of a booster's features, and the depth of its trees.

function drawImportances() {
  const all = report.booster.importances;
  if (!all.length) return null;
  const shown = make('div');
  const note = make('p', { class: 'note' });
  const show = (i) => {
    shown.replaceChildren();
    drawBars(shown, { labels: all[i].features, values: all[i].values.map(toNumber) });
    const some = all[i].features.length < all[i].all ? `the ${all[i].features.length} most important of ` : '';
    note.textContent = `Step ${all[i].step}: ${some}${all[i].all} features that trees use.`;
  };
  const first = Math.max(all.findIndex((each) => each.kind === 'gain'), 0);
  show(first);
  return make('div', { class: 'card' }, make('h3', {}, 'Importance of features'), note,
    make('div', { class: 'controls' }, chooser('Measure', all.map((each) => each.kind.replace('_', ' ')), show, first)), shown);
}

function drawTrees() {
  const { steps, depths, nodes } = report.booster.trees;
  if (!steps.length) return null;
  const card = make('div', { class: 'card' });
  const chart = (title, yTitle, values) => drawLineChart(card, { lines: [{ label: yTitle, colour: 0, dash: null, x: steps, y: values.map(toNumber) }] },
    { title, yTitle, height: 174, canSwitch: false, group: STEPS });
  chart('Depth of the deepest tree', 'depth', depths);
  chart('Nodes of the round’s trees', 'nodes', nodes);
  return card;
}

function drawBooster(place) {
  place.append(make('div', { class: 'grid' }, ...[drawImportances(), drawTrees()].filter(Boolean)));
}
