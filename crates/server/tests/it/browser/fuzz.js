// Random pages are merged into random pages that somebody has been at work on. Runs in the browser; says how many cases there
// were of each kind, or what went wrong.
const [seed, cases, done] = arguments;

let state = seed;
const random = (below) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};
const chance = (percent) => random(100) < percent;
const pick = (list) => list[random(list.length)];

const TEXTS = ["one", "two", "three", "", "  ", "<&>"];
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const field = (id) => pick([
  `<input id="${id}" value="${pick(["", "a", "bc"])}">`,
  `<textarea id="${id}">${escaped(pick(TEXTS))}</textarea>`,
  `<input type="checkbox" id="${id}" ${pick(["", "checked"])}>`,
  `<input type="radio" name="r${random(2)}" value="${random(9)}" id="${id}" ${pick(["", "checked"])}>`,
  `<select id="${id}"><option value="1">1</option><option value="2" ${pick(["", "selected"])}>2</option></select>`,
  `<input type="hidden" id="${id}" value="${random(9)}">`,
]);
// Ids are unique in a page, as they must be in ours.
const tree = (depth, ids) => {
  let html = "";
  for (let left = random(5); left > 0; left -= 1) {
    const id = chance(50) && ids.length > 0 ? ids.splice(random(ids.length), 1)[0] : null;
    const kind = id?.[0] ?? "p";
    if (kind === "f") html += field(id);
    else if (chance(25)) html += escaped(pick(TEXTS));
    else if (chance(5)) html += "<!-- a remark -->";
    else {
      const name = id ? { d: "details", s: "section", r: "div" }[kind] : pick(["p", "div", "b"]);
      const attributes = `${id ? ` id="${id}"` : ""}${chance(30) ? ` class="c${random(3)}"` : ""}${chance(20) ? ` title="${random(3)}"` : ""}`;
      html += `<${name}${attributes}>${depth > 0 ? tree(depth - 1, ids) : escaped(pick(TEXTS))}</${name}>`;
    }
  }
  return html;
};
const allIds = () => ["f1", "f2", "f3", "f4", "f5", "d1", "d2", "s1", "s2", "s3", "r1", "r2"];
const rows = (count) => {
  const ids = Array.from({ length: 9 }, (_, index) => index);
  let html = "";
  for (let left = count; left > 0; left -= 1) {
    const id = ids.splice(random(ids.length), 1)[0];
    html += `<li id="row-${id}"><a class="item-title" href="#">row ${id} ${random(3)}</a><input id="i${id}" value="${random(3)}"></li>`;
  }
  return `<ol>${html}</ol>`;
};

const parse = (html) => new DOMParser().parseFromString(`<main>${html}</main>`, "text/html").querySelector("main");
const isText = (element) => element.matches("textarea, input:not([type])");
const counts = { cases: 0, moved: 0, focused: 0, typed: 0, stale: 0, opened: 0, chosen: 0, held: 0, revealed: 0 };

/** What a person does to a page. */
function act(host) {
  const deeds = { typed: [], opened: [], chosen: null, focused: null, selection: null };
  for (const element of host.querySelectorAll("textarea, input:not([type])"))
    if (chance(25)) { element.value = `typed ${random(9)}`; if (element.value !== element.defaultValue) deeds.typed.push([element, element.value]); }
  for (const element of host.querySelectorAll("details")) if (chance(40)) { element.open = true; deeds.opened.push(element); }
  const radios = [...host.querySelectorAll("input[type=radio]")];
  const free = radios.filter((radio) => !radio.defaultChecked);
  if (free.length > 0 && chance(80)) { deeds.chosen = pick(free); deeds.chosen.checked = true; }
  const fields = [...host.querySelectorAll("input:not([type=hidden]), textarea, select, a")];
  if (fields.length > 0 && chance(60)) {
    const focused = pick(fields);
    focused.focus();
    if (document.activeElement === focused) {
      deeds.focused = focused;
      if (isText(focused)) { focused.setSelectionRange(0, Math.min(1, focused.value.length)); deeds.selection = [focused.selectionStart, focused.selectionEnd, focused.value]; }
    }
  }
  return deeds;
}

/** The page as the hub meant it, and as it is: without what is a person's own. */
function plain(host, focused) {
  const copy = host.cloneNode(true);
  for (const stale of copy.querySelectorAll("[data-stale]")) stale.remove();
  for (const details of copy.querySelectorAll("details")) details.removeAttribute("open");
  const untouched = focused?.id && copy.querySelector(`#${focused.id}`);
  if (untouched && focused.matches("input, textarea, select")) untouched.replaceWith(Object.assign(document.createElement("i"), { id: focused.id }));
  copy.normalize();
  return copy;
}

function check(condition, why, before, after, host) {
  if (!condition) throw new Error(`${why}\nfrom ${before}\nto   ${after}\nis   ${host.innerHTML}`);
}

function one(morph, host) {
  const isList = chance(40);
  const [before, after] = isList ? [rows(2 + random(6)), rows(random(8))] : [tree(3, allIds()), tree(3, allIds())];
  host.innerHTML = before;
  const deeds = act(host), wanted = parse(after), expected = wanted.cloneNode(true);
  const places = new Map([...host.querySelectorAll("[id]")].map((element) => [element.id, element]));
  const order = [...host.querySelectorAll("ol > li")], shown = order.map((row) => row.offsetTop);
  const isHeld = isList && order.some((row) => row.contains(document.activeElement));
  morph(host, wanted, false);
  counts.cases += 1;
  if (isHeld) {
    check(order.every((row, at) => host.querySelectorAll("ol > li")[at] === row && row.offsetTop === shown[at]), "a row moved under a hand", before, after, host);
    check(host.querySelectorAll("ol > li").length === order.length, "a row came or went under a hand", before, after, host);
    const gone = order.filter((row) => !expected.querySelector(`#${row.id}`));
    check(gone.every((row) => row.inert && row.matches(".item-done")), "a row that is gone can be opened", before, after, host);
    counts.held += 1;
    morph(host, expected.cloneNode(true), true);
    counts.revealed += 1;
  }
  const { focused } = deeds;
  if (focused && (isText(focused) || focused.matches("select"))) {
    check(document.activeElement === focused, "the focus was lost", before, after, host);
    counts.focused += 1;
  }
  if (deeds.selection) {
    check(focused.value === deeds.selection[2] && focused.selectionStart === deeds.selection[0] && focused.selectionEnd === deeds.selection[1], "the selection was lost", before, after, host);
  }
  for (const [element, value] of deeds.typed) {
    check(element.isConnected && element.value === value, "what was typed was lost", before, after, host);
    counts.typed += 1;
    if (element.closest("[data-stale]")) counts.stale += 1;
  }
  for (const details of deeds.opened) if (details.isConnected) { check(details.open, "something was closed", before, after, host); counts.opened += 1; }
  if (deeds.chosen?.isConnected) { check(deeds.chosen.checked, "a choice was undone", before, after, host); counts.chosen += 1; }
  check(plain(host, focused).isEqualNode(plain(expected, focused)), "the page is not what the hub rendered", before, after, host);
  if (isList) {
    const kept = [...host.querySelectorAll("li")].filter((row) => places.has(row.id));
    check(kept.every((row) => places.get(row.id) === row), "a row was made anew", before, after, host);
    if (kept.some((row, at) => at > 0 && order.indexOf(kept[at - 1]) > order.indexOf(row))) counts.moved += 1;
  }
  for (const hidden of host.querySelectorAll("input[type=hidden]"))
    check(hidden.value === hidden.getAttribute("value"), "a hidden field does not say what the hub said", before, after, host);
}

import("/assets/app.js").then(({ morph }) => {
  const host = document.body.appendChild(document.createElement("main"));
  for (let left = cases; left > 0; left -= 1) one(morph, host);
  done(counts);
}).catch((error) => done({ error: `${error.message}\n${error.stack}` }));
