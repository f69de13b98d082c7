'use strict';
// Runs before the rest of the page has come, and asks for the runs that the address names: the answer and the page's
// script are on their way together.

// A chart is about so wide; zooming reads details.
const CHART_PIXELS = Math.min(900, Math.ceil(620 * window.devicePixelRatio));
const FIRST_WORKERS = 4;

// Returns the request for a run and the lines of its first charts; of several runs, a chart has no line for each worker.
const runQuery = (id, count) => ({ id, pixels: CHART_PIXELS, workers: count === 1 ? FIRST_WORKERS : 1 });

// Returns the ids of the runs that the page's address names.
const idsOfAddress = () => ((location.hash.match(/^#\/runs\/([^/]+)$/) || [])[1] || '').split(',').filter(Boolean);

// The responses that were asked for, by address.
const early = new Map();
idsOfAddress().forEach((id, i, ids) => {
  const address = `/api/run?${new URLSearchParams(runQuery(id, ids.length))}`;
  const response = fetch(address);
  response.catch(() => {});  // who takes it tells
  early.set(address, response);
});
