// What all pages share: elements whose text is never markup, asking the server again and again, numbers for people.

const PAGES = [["now", "Now"], ["numbers", "Numbers"], ["fates", "Fates"], ["releases", "Releases"], ["replays", "Replays"]];

// An element with attributes and children; text becomes text nodes, whatever it holds.
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, String(value));
  }
  made.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => child instanceof Node ? child : document.createTextNode(String(child))));
  return made;
}

export function fill(host, ...children) {
  host.replaceChildren(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
}

// As fill, but whoever is in it with the keyboard keeps their place: it is filled again once they have left.
export function refill(host, ...children) {
  if (!host.contains(document.activeElement)) fill(host, ...children);
}

export function head(page) {
  const links = PAGES.map(([name, title]) =>
    el("li", {}, el("a", {href: name, "aria-current": name === page ? "page" : null, "data-title": title}, title)));
  document.getElementById("pages").append(el("ul", {}, links));
  if (page === "now") return;
  repeat(5000, async () => {
    try { remind(await ask("data/now")); } catch { /* the page itself says what is wrong */ }
  });
}

// Say in the navigation what nobody may miss, whichever page is open.
export function remind({red, questions}) {
  mark("now", red.length ? `${red.length} red` : "");
  mark("replays", questions ? "a question waits" : "");
}

function mark(name, word) {
  const link = document.querySelector(`#pages a[href="${name}"]`), {title} = link.dataset;
  const text = word ? `${title}: ${word}` : title;
  if (link.textContent !== text) link.textContent = text;
  link.classList.toggle("bad", word !== "");
}

export function section(title) {
  const host = el("div");
  document.getElementById("main").append(el("section", {}, title ? el("h2", {}, title) : null, host));
  return host;
}

const troubles = new Map();

// What is wrong with one of the things that the page asks for; the others may be well.
function say(what, text) {
  troubles.set(what, text);
  const said = document.getElementById("said"), told = [...new Set(troubles.values())].filter(Boolean).join(" ");
  if (said.textContent !== told) said.textContent = told;
  said.className = told ? "bad" : "";
}

const SILENT_SECONDS = 20;
let asOf = 0;

// The JSON at an address below the console; throws with the server's own sentence.
export async function ask(address) {
  const answer = await reach(address);
  if (answer.ok) {
    asOf = (Date.parse(answer.headers.get("date")) || Date.now()) - 1000 * Number(answer.headers.get("age") ?? 0);
    return answer.json();
  }
  if (answer.status === 401) throw new Error("Nobody is signed in any more: sign in to Airflow again.");
  if (answer.status === 403) throw new Error("Your role in Airflow may not look at the streams.");
  let told = {};
  try { told = await answer.json(); } catch { /* an answer without a sentence */ }
  throw new Error(told.refused || `The server answered ${answer.status}.`);
}

async function reach(address) {
  try {
    return await fetch(address, {headers: {accept: "application/json"}, credentials: "same-origin", signal: AbortSignal.timeout(1000 * SILENT_SECONDS)});
  } catch (problem) {
    throw new Error(problem.name === "TimeoutError" ? `Airflow's server has not answered for ${SILENT_SECONDS} s.` : "Airflow's server cannot be reached.");
  }
}

let asking = 0;

// Ask now and then every so many ms; what goes wrong is said at the top, and asked again. The first thing that a page
// asks for tells as of when it is. Returns what asks at once, for another choice.
export function every(milliseconds, address, draw) {
  const what = asking++;
  let last = 0;
  return repeat(milliseconds, async () => {
    const wanted = address();
    try {
      const told = await ask(wanted), read = asOf;
      if (wanted !== address()) return;  // something else was chosen meanwhile, which is asked for next
      draw(told);
      say(what, "");
      last = read;
      if (what === 0) document.getElementById("as-of").textContent = `as of ${clock(last / 1000)}`;
    } catch (problem) {
      const old = last ? ` What is shown is of ${clock(last / 1000)}.` : "";
      say(what, problem.message + old);
    }
  });
}

// Do something now and then every so many ms, as long as somebody looks, and never twice at a time. Returns what does
// it at once, or once more after what is under way.
function repeat(milliseconds, work) {
  let working = false, wanted = false;
  async function look() {
    if (working || document.hidden) return;
    working = true;
    try {
      do {
        wanted = false;
        await work();
      } while (wanted);
    } finally { working = false; }
  }
  setInterval(look, milliseconds);
  document.addEventListener("visibilitychange", look);
  look();
  return () => { wanted = true; look(); };
}

// A link into Airflow's own pages. The console stands in a frame that may not lead its parent elsewhere; a link that
// belongs to the parent's document may.
export function airflow(path, text, attributes = {}) {
  const address = new URL(`../../${path}`, document.baseURI.split("?")[0]).href;
  return el("a", {href: address, ...attributes, onclick(event) {
    if (window.parent === window || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const outer = window.parent.document.createElement("a");
    outer.href = address;
    window.parent.document.body.append(outer);
    outer.click();
    outer.remove();
  }}, text);
}

export function table(caption, columns, rows, more = "") {
  const headings = columns.map(([title, kind]) => el("th", {scope: "col", class: kind}, title));
  const body = rows.map((row) => el("tr", {}, row.map((cell, i) => el("td", {class: columns[i][1]}, cell))));
  return el("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": caption},
    el("table", {}, el("caption", {}, caption, more && rows.length ? `: ${more}` : ""),
      el("thead", {}, el("tr", {}, headings)),
      el("tbody", {}, body.length ? body : el("tr", {}, el("td", {colspan: columns.length}, "none")))));
}

export const whole = (value) => value === null || value === undefined ? "?" : Number(value).toLocaleString("en");

export function seconds(value) {
  if (value === null || value === undefined) return "?";
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 120) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  if (value < 7200) return `${Math.round(value / 60)} min`;
  return `${(value / 3600).toFixed(1)} h`;
}

export function bytes(value) {
  if (value === null || value === undefined) return "?";
  const units = ["B", "KiB", "MiB", "GiB"];
  let at = 0;
  for (; value >= 1024 && at < 3; at++) value /= 1024;
  return `${value.toFixed(at && value < 10 ? 1 : 0)} ${units[at]}`;
}

// Micros, as text, in the currency's unit; no float holds money.
export function money(micros) {
  if (micros === null || micros === undefined) return "?";
  const text = String(micros), sign = text.startsWith("-") ? "-" : "", digits = text.replace("-", "").padStart(7, "0");
  return `${sign}${digits.slice(0, -6).replace(/\B(?=(\d{3})+(?!\d))/g, ",")}.${digits.slice(-6)}`;
}

export const share = (value) => value === null || value === undefined ? "none" : `${(value * 100).toFixed(4)}\u00a0%`;

export const clock = (epoch) => `${new Date(epoch * 1000).toISOString().slice(11, 19)} UTC`;

export const moment = (iso) => iso ? `${String(iso).slice(0, 19).replace("T", " ")}` : "none";

export const utc = (iso) => iso ? `${moment(iso)} UTC` : "none";

export function field(title, control) {
  return el("label", {}, title, control);
}

export function select(name, values, chosen, changed) {
  return el("select", {name, onchange: changed}, values.map((value) => {
    const [held, text] = Array.isArray(value) ? value : [value, value];
    return el("option", {value: held, selected: held === chosen}, text);
  }));
}

// A list of buttons that lead to the forms of Airflow; nothing is changed from here. Returns what it was made from.
export async function verbs(host) {
  const told = await ask("page/verbs"), {verbs} = told;
  fill(host, el("h2", {}, "Change something"), el("p", {class: "quiet"},
    "Each leads to the DAG in Airflow; its Trigger button has the form, with a dry run. ",
    "The same from a terminal: ./kappa VERB --help."),
    el("ul", {class: "verbs"}, verbs.map(({verb, dag_id, meaning}) =>
      el("li", {}, airflow(`dags/${dag_id}`, verb, {class: "button"}), ` ${meaning}`))));
  return told;
}
