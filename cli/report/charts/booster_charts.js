// The importance of a booster's features, and its trees.

// Data: [{kind, step, all: the number of features, features, values}].
function drawImportances(element, data) {
  const bars = make('div');
  const note = make('p', { class: 'note' });
  const controls = make('div', { class: 'controls' });
  const figure = make('div', { class: 'card' }, make('h3', {}, 'Importance of features'), note, controls, bars);
  element.append(figure);
  let kinds = '';
  let chosen = 'gain';
  let all = data;
  function show() {
    const { step, all: count, features, values } = all.find((each) => each.kind === chosen) ?? all[0];
    bars.replaceChildren();
    drawBars(bars, { labels: features, values: values.map(toNumber) });
    note.textContent = `Step ${step}: ${features.length < count ? `the ${features.length} most important of ` : ''}${countText(count, 'feature')} that trees use.`;
  }
  function update(next) {
    all = next;
    figure.hidden = all.length === 0;
    if (!all.length) return;
    const names = all.map((each) => each.kind);
    if (kinds !== names.join('\n')) {
      kinds = names.join('\n');
      controls.replaceChildren(chooser('Measure', names.map((name) => name.replace('_', ' ')), (i) => {
        chosen = all[i].kind;
        show();
      }, Math.max(names.indexOf(chosen), 0)));
    }
    show();
  }
  update(data);
  return { figure, update, destroy: () => figure.remove() };
}

// Data: {steps, depths, nodes}.  Options: group.
function drawTrees(element, data, { group }) {
  const figure = make('div', { class: 'card' });
  element.append(figure);
  const linesOf = (yTitle, { steps }, values) => ({ lines: [{ label: yTitle, colour: 0, dash: null, x: steps, y: values.map(toNumber) }] });
  const chart = (title, yTitle, values) => drawLineChart(figure, linesOf(yTitle, data, values), { title, yTitle, height: 174, canSwitch: false, group });
  const depths = chart('Depth of the deepest tree', 'depth', data.depths);
  const nodes = chart('Nodes of the round’s trees', 'nodes', data.nodes);
  function update(next) {
    figure.hidden = next.steps.length === 0;
    depths.update(linesOf('depth', next, next.depths));
    nodes.update(linesOf('nodes', next, next.nodes));
  }
  figure.hidden = data.steps.length === 0;
  return {
    figure, update,
    destroy() {
      depths.destroy();
      nodes.destroy();
      figure.remove();
    },
  };
}

// Data: {importances, trees}.  Options: group.
function drawBoosterCharts(element, data, options) {
  const figure = make('div', { class: 'grid' });
  element.append(figure);
  const parts = [drawImportances(figure, data.importances), drawTrees(figure, data.trees, options)];
  return {
    figure,
    update(next) {
      parts[0].update(next.importances);
      parts[1].update(next.trees);
    },
    destroy() {
      parts.forEach((part) => part.destroy());
      figure.remove();
    },
  };
}
