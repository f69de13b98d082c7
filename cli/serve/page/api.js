// Requests to the server, and its events.

export class Failure extends Error {}

// Returns the JSON at a path of the API.  Values of `query` that are null are omitted.
export async function get(path, query = {}, signal = undefined) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined) words.append(name, value);
  }
  let response;
  try {
    response = await fetch(`${path}?${words}`, { signal });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Failure('The server does not answer. Is smdebug serve still running?');
  }
  if (!response.ok) throw new Failure((await response.text()).trim());
  return response.json();
}

// Values that are not finite are texts in JSON.
export const numbers = (values) => values.map(toNumber);

// Returns a function that calls `act` with its last argument once it was not called for a moment.
const MOMENT = 80;  // ms
export function settled(act) {
  let timer = null;
  return (last) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(last), MOMENT);
  };
}

const CLIENT = Array.from(crypto.getRandomValues(new Uint32Array(2))).map(String).join('-');
const RETRY = 3000;  // ms
const LATER = 15000;

// Returns what to tell of a refusal, and when to try again: another tab may have got the token meanwhile.
async function whyRefused() {
  try {
    const { status } = await fetch('/icon.svg', { method: 'HEAD', cache: 'no-store' });
    if (status === 401) return ['The server was started again; open the address that it printed.', LATER];
    if (status === 200) return ['The server sends no events, as when too many pages are open; trying again.', RETRY];
  } catch {
    // tells that it is lost
  }
  return ['The connection is lost; trying again.', RETRY];
}

// Watches runs: `runs` are ids, `series` are {run: index, worker, measure, tensor}, `list` is true for changes of the list,
// `from` is a cursor.  Calls `take(event)`.  Resumes after the last event if the connection is lost.  Returns {end,
// change}: change(series) watches others from now on.
export function watch({ runs = [], series = [], list = false, from = '' }, take) {
  const connection = document.getElementById('connection');
  let source = null;
  let timer = null;
  let cursor = from;
  let hasEnded = false;
  function open() {
    const words = new URLSearchParams({ client: CLIENT, from: cursor });
    if (list) words.append('list', '1');
    runs.forEach((run) => words.append('run', run));
    series.forEach((each) => words.append('s', [each.run, each.worker, each.measure, each.tensor].join('\t')));
    source = new EventSource(`/events?${words}`);
    const own = source;
    source.onopen = () => connection.replaceChildren();
    source.onmessage = (event) => {
      cursor = event.lastEventId;
      take(JSON.parse(event.data));
    };
    source.onerror = async () => {
      if (connection.textContent === '') connection.replaceChildren('The connection is lost; trying again.');
      // After a refusal the browser does not try again.
      if (own.readyState !== EventSource.CLOSED) return;
      const [why, pause] = await whyRefused();
      if (hasEnded || own !== source) return;
      connection.replaceChildren(why);
      clearTimeout(timer);
      timer = setTimeout(open, pause);
    };
  }
  open();
  return {
    end() {
      hasEnded = true;
      clearTimeout(timer);
      source.close();
      connection.replaceChildren();
    },
    change(next) {
      series = next;
      clearTimeout(timer);
      source.close();
      open();
    },
  };
}
