// @ts-check
// The one script of the dashboard. Every page works without it; it keeps pages fresh, keeps anything from moving under the
// hand that is about to sign, and answers the keyboard.
//
// The hub says over a socket that something has changed. The page is then asked for again at its own address and merged
// into what is on the screen, so that whatever a person sees was rendered by one template, for that person, and nothing
// that was typed, chosen, opened or focused is lost.

/** How long the signature block is inert after a pushed change, and how long the change stays marked. */
const SETTLING_MS = 700, CHANGED_MS = 2000;
/** The page is asked for again at most this often, and at least so often that its relative times stay true. */
const REFRESH_MS_MIN = 1000, REFRESH_MS_MAX = 60_000;
/** Without a socket the page is asked for so often. */
const POLL_MS = 10_000;
const BACK_OFF_MS_MIN = 500, BACK_OFF_MS_MAX = 30_000, PING_MS = 30_000;
const TOAST_MS = 6000;
/** What the hub says when a login has ended. */
const CLOSED_UNAUTHENTICATED = 4401;
/** Classes that this module gives, and no server's markup takes away. */
const OUR_CLASSES = ["settling", "changed"];
/** What this module alone writes. */
const OUR_PARTS = ".live, .toasts, [data-keep]";
/** What else than tasks and their approvals, which every page counts, a page shows. */
const TOPICS = /** @type {Record<string, string>} */ ({
  agents: ",agent:*", audit: ",audit:*", locks: ",lock:*", overview: ",agent:*,lock:*",
});

// ---- Merging ------------------------------------------------------------------------------------------------------

/** What a merge has seen besides doing it. */
class Merge {
  /** Elements whose text is not what it was. @type {Set<Element>} */
  touched = new Set();
  /** Rows that wait because somebody is in their list. @type {Map<Element, number>} */
  held = new Map();
  /** @param {boolean} reveals whether lists change although somebody is in them */
  constructor(reveals) { this.reveals = reveals; }
}

/** Makes `from` what `to` is, keeping its nodes, and with them what people have done to them. `to` is used up.
 *  @param {Element} from @param {Element} to */
export function morph(from, to, reveals = false) {
  const merge = new Merge(reveals);
  const chosen = [...from.querySelectorAll("input")].filter((input) => input.type === "radio" && input.checked && !input.defaultChecked);
  morphElement(merge, from, to);
  // A radio that the hub has preset meanwhile does not undo a choice.
  for (const radio of chosen) if (radio.isConnected) radio.checked = true;
  return merge;
}

/** @param {Merge} merge @param {Element} from @param {Element} to */
function morphElement(merge, from, to) {
  if (isTyping(from) || from.matches(OUR_PARTS) || from.isEqualNode(to)) return;
  const restore = typed(from, to);
  morphAttributes(from, to);
  morphChildren(merge, from, to);
  restore();
}

/** Whether somebody types in this very element. @param {Element|null} element */
function isTyping(element) {
  if (!element || element !== document.activeElement) return false;
  if (element instanceof HTMLInputElement) return !["button", "checkbox", "radio", "submit", "reset"].includes(element.type);
  return element.matches("textarea, select") || /** @type {HTMLElement} */ (element).isContentEditable;
}

/** How to give a field back what a person has put in, or to show what the hub has if nobody has.
 *  @param {Element} from @param {Element} to @returns {() => void} */
function typed(from, to) {
  if (from instanceof HTMLInputElement && (from.type === "checkbox" || from.type === "radio")) {
    const { checked } = from, isOurs = checked !== from.defaultChecked;
    return () => { from.checked = isOurs ? checked : from.defaultChecked; };
  }
  if (from instanceof HTMLInputElement && from.type === "hidden") return () => {};
  if (from instanceof HTMLInputElement || from instanceof HTMLTextAreaElement) {
    const { value } = from, isOurs = isDirty(from);
    return () => { const now = isOurs ? value : from.defaultValue; if (from.value !== now) from.value = now; };
  }
  if (from instanceof HTMLSelectElement) {
    const { value } = from, isOurs = isDirty(from), theirs = /** @type {HTMLSelectElement} */ (to).value;
    return () => {
      const has = [...from.options].some((option) => option.value === value);
      from.value = isOurs && has ? value : theirs;
    };
  }
  return () => {};
}

/** Whether a person has changed a field. @param {Element} field */
function isDirty(field) {
  if (field instanceof HTMLSelectElement) {
    const preset = [...field.options].find((option) => option.defaultSelected) ?? field.options[0];
    return preset !== undefined && field.value !== preset.value;
  }
  if (field instanceof HTMLInputElement && ["hidden", "checkbox", "radio", "submit"].includes(field.type)) return false;
  const text = field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement;
  return text && field.value !== field.defaultValue;
}

/** @param {Element} from @param {Element} to */
function morphAttributes(from, to) {
  const opens = from.matches("details, dialog");
  const ours = OUR_CLASSES.filter((name) => from.classList.contains(name));
  for (const { name } of [...from.attributes])
    if (!to.hasAttribute(name) && !(opens && name === "open")) from.removeAttribute(name);
  for (const { name, value } of [...to.attributes])
    if (from.getAttribute(name) !== value && !(opens && name === "open")) from.setAttribute(name, value);
  if (ours.length) from.classList.add(...ours);
}

/** By what a child is known among its siblings: its id, or what a field is sent as. @param {Node} node @returns {string|null} */
function key(node) {
  if (!(node instanceof Element)) return null;
  if (node.id || !node.matches("input, textarea, select")) return node.id || null;
  const { name, type, value } = /** @type {HTMLInputElement} */ (node);
  return name ? `${name}=${type === "radio" || type === "checkbox" ? value : ""}` : null;
}
/** @param {Node} node */
const isKept = (node) => node instanceof Element && node.hasAttribute("data-keep");
/** @param {Node} node */
const isRow = (node) => key(node)?.startsWith("row-") ?? false;

/** @param {Merge} merge @param {Element} from @param {Element} to */
function morphChildren(merge, from, to) {
  if (!merge.reveals && isOccupied(from)) return morphOccupied(merge, from, to);
  const wanted = new Set([...to.children].map(key)), twins = byKey(from);
  /** @type {ChildNode|null} */
  let here = from.firstChild;
  for (const want of [...to.childNodes]) {
    // What is gone makes way first, so that what follows it meets its twin.
    while (here && (isKept(here) || (key(here) && !wanted.has(key(here))))) here = leave(merge, here);
    const twin = twinOf(want, here, twins);
    if (!twin) {
      from.insertBefore(want, here);
      merge.touched.add(want instanceof Element ? want : from);
    } else {
      if (twin === here) here = here.nextSibling;
      else move(from, twin, here);
      morphNode(merge, twin, want);
    }
  }
  while (here) here = leave(merge, here);
}

/** @param {Element} from @returns {Map<string, Element>} */
function byKey(from) {
  /** @type {Map<string, Element>} */
  const found = new Map();
  for (const child of from.children) {
    const name = key(child);
    if (name && !found.has(name)) found.set(name, child);
  }
  return found;
}

/** The node that becomes `want`: the one of its name, or the next one if neither has a name.
 *  @param {ChildNode} want @param {ChildNode|null} here @param {Map<string, Element>} twins @returns {ChildNode|null} */
function twinOf(want, here, twins) {
  const name = key(want);
  if (name === null) return here && key(here) === null && isAlike(here, want) ? here : null;
  const twin = twins.get(name);
  twins.delete(name);
  return twin && isAlike(twin, want) ? twin : null;
}

/** Whether one can become the other. @param {Node} one @param {Node} other */
function isAlike(one, other) {
  if (one instanceof Element && one.matches("input") && one.getAttribute("type") !== /** @type {Element} */ (other).getAttribute?.("type")) return false;
  return one.nodeName === other.nodeName;
}

/** @param {Merge} merge @param {ChildNode} from @param {ChildNode} to */
function morphNode(merge, from, to) {
  if (from instanceof Element) return morphElement(merge, from, /** @type {Element} */ (to));
  if (from.nodeValue === to.nodeValue) return;
  from.nodeValue = to.nodeValue;
  if (from.parentElement) merge.touched.add(from.parentElement);
}

/** Takes a node away unless a person would lose something with it; the one after it.
 *  @param {Merge} merge @param {ChildNode} node */
function leave(merge, node) {
  const next = node.nextSibling;
  if (isKept(node)) return next;
  if (node instanceof Element && [node, ...node.querySelectorAll("input, textarea, select")].some((field) => isTyping(field) || isDirty(field))) {
    node.setAttribute("data-stale", "");
    // It is there to be read, and nothing that it is sent with now.
    for (const field of [node, ...node.querySelectorAll("[name]")]) field.removeAttribute("name");
    return next;
  }
  if (node.parentElement) merge.touched.add(node.parentElement);
  node.remove();
  return next;
}

/** @param {Element} parent @param {ChildNode} node @param {ChildNode|null} before */
function move(parent, node, before) {
  // Keeps focus, selection and scrolling; browsers without it lose the focus for a moment.
  if ("moveBefore" in parent) return /** @type {any} */ (parent).moveBefore(node, before);
  const focused = node.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement) : null;
  parent.insertBefore(node, before);
  focused?.focus({ preventScroll: true });
}

// ---- Lists that somebody is in ------------------------------------------------------------------------------------

/** Whether this is a list of rows with the pointer or the focus in it. @param {Element} list */
function isOccupied(list) {
  if (![...list.children].some(isRow)) return false;
  return list.matches(":hover") || list.contains(document.activeElement);
}

/** Rows change where they are. Those that come wait, those that go stay and can no longer be opened: whatever is under the
 *  pointer stays under it. @param {Merge} merge @param {Element} list @param {Element} to */
function morphOccupied(merge, list, to) {
  const wanted = byKey(to), shown = byKey(list);
  for (const [name, row] of shown) {
    const want = wanted.get(name);
    if (want) morphElement(merge, row, want);
    else if (isRow(row)) { row.classList.add("item-done"); row.toggleAttribute("inert", true); }
  }
  const arrived = [...wanted.keys()].filter((name) => name.startsWith("row-") && !shown.has(name)).length;
  const left = [...shown.keys()].some((name) => name.startsWith("row-") && !wanted.has(name));
  if (arrived > 0 || left) merge.held.set(list, arrived);
}

/** The bar above a list that says how many rows wait. Its room is there from the beginning: a bar that appears would itself
 *  move the rows. @param {Element} list */
function barOf(list) {
  const frame = list.closest("form, table") ?? list;
  // Beside a list that leads to what stands next to it there is no room of its own.
  const inside = list.matches("nav");
  const before = inside ? list.firstElementChild : frame.previousElementSibling;
  if (before?.matches(".new-bar[data-keep]")) return before;
  const bar = document.createElement("button");
  bar.type = "button";
  bar.className = "new-bar new-bar-none";
  bar.setAttribute("data-keep", "");
  bar.append(document.createElement("span"), document.createElement("span"), document.createElement("kbd"));
  bar.children[1].textContent = "held while you are in the list";
  bar.children[1].className = "muted";
  bar.children[2].textContent = ".";
  bar.children[2].className = "end";
  bar.addEventListener("click", reveal);
  if (inside) list.prepend(bar); else frame.before(bar);
  return bar;
}

const lists = () => [...new Set([...document.querySelectorAll("main [id^='row-']")].map((row) => /** @type {Element} */ (row.parentElement)))];

/** @param {Map<Element, number>} held */
function showHeld(held) {
  for (const list of lists()) {
    const arrived = held.get(list) ?? 0, bar = barOf(list);
    bar.classList.toggle("new-bar-none", arrived === 0);
    if (arrived > 0) bar.children[0].textContent = `${arrived} new`;
  }
}

/** The last page that came, while some of it waits. @type {string|null} */
let waiting = null;

/** Shows what waits, whoever is in the list. */
function reveal() { if (waiting !== null) show(waiting, true); }

/** Shows what waits once nobody is in a list. */
function revealWhenLeft() {
  setTimeout(() => { if (waiting !== null && !lists().some(isOccupied)) reveal(); }, 0);
}

// ---- The page, again ----------------------------------------------------------------------------------------------

const signatureBlock = () => document.getElementById("sign");
/** What the block signs: whose request, and which content. @param {Element|null} block */
function signedContent(block) {
  const request = block?.querySelector("[data-approval]")?.getAttribute("data-approval");
  const hash = /** @type {HTMLInputElement|null|undefined} */ (block?.querySelector("[name=content_hash]"))?.value;
  return `${request} ${hash}`;
}

/** Merges a page that was fetched into this one. @param {string} text */
function show(text, reveals = false) {
  const page = new DOMParser().parseFromString(text, "text/html");
  // Something else than this page, such as a problem: what is on the screen stays.
  if (page.body.dataset.live !== document.body.dataset.live) return false;
  const content = signedContent(signatureBlock()), waited = waitingCount();
  document.title = page.title;
  const merge = morph(document.body, page.body, reveals);
  waiting = merge.held.size > 0 ? text : null;
  showHeld(merge.held);
  guard(merge, content);
  if (state === "live") say("live");
  else stopTimes();
  if (waitingCount() > waited && document.body.dataset.live !== "inbox") toast("Another decision waits for you.", "/", "Inbox");
  return true;
}

/** How many decisions wait, as the navigation says it. */
function waitingCount() {
  return Number.parseInt(document.querySelector(".nav a[href='/'] .count")?.textContent ?? "0", 10) || 0;
}

let settled = 0;

/** Keeps a hand from signing what it has not read: what changed in the block is marked, its buttons wait, and another
 *  content has to be chosen anew. @param {Merge} merge @param {string} content what was there to be signed before */
function guard(merge, content) {
  const block = signatureBlock();
  const marks = [...merge.touched].filter((element) => block?.contains(element) && !element.closest("time"));
  if (!block || marks.length === 0) return;
  if (signedContent(block) !== content) clearChoice(block, true);
  block.classList.add("settling");
  for (const mark of marks) mark.classList.add("changed");
  clearTimeout(settled);
  settled = setTimeout(() => block.classList.remove("settling"), SETTLING_MS);
  setTimeout(() => { for (const mark of marks) mark.classList.remove("changed"); }, CHANGED_MS);
}

/** @param {Element} block */
function clearChoice(block, isNewContent = false) {
  for (const radio of /** @type {NodeListOf<HTMLInputElement>} */ (block.querySelectorAll("[name=decision]"))) radio.checked = false;
  // What was typed to confirm another content confirms nothing.
  if (isNewContent) for (const arm of /** @type {NodeListOf<HTMLInputElement>} */ (block.querySelectorAll(".arm"))) arm.value = "";
}

let isFetching = false, isDue = false, askedAt = 0, misses = 0, refreshTimer = 0;

/** Asks for the page soon: at once if the last time is long ago, and ever later if it does not come. */
function refreshSoon() {
  isDue = true;
  if (isFetching || document.hidden) return;
  clearTimeout(refreshTimer);
  const pause = Math.min(REFRESH_MS_MIN * 2 ** misses, REFRESH_MS_MAX);
  refreshTimer = setTimeout(refresh, Math.max(0, askedAt + pause - Date.now()));
}

/** Asks for the page; whether it came. */
async function refresh() {
  if (isFetching || state === "ended") return false;
  clearTimeout(refreshTimer);
  isFetching = true;
  isDue = false;
  const came = await ask().catch(() => false);
  isFetching = false;
  askedAt = Date.now();
  misses = came ? 0 : misses + 1;
  isDue ||= !came;
  if (isDue && state === "live") refreshSoon();
  else if (!document.hidden) refreshTimer = setTimeout(refresh, REFRESH_MS_MAX);
  return came;
}

async function ask() {
  const answer = await fetch(location.href, { headers: { accept: "text/html" }, cache: "no-store" });
  if (answer.redirected && new URL(answer.url).pathname.startsWith("/login")) { say("ended"); return false; }
  return answer.ok && show(await answer.text());
}

// ---- The socket ---------------------------------------------------------------------------------------------------

/** @typedef {"live"|"polling"|"none"|"ended"} State */
/** @type {State} */
let state = "none";
/** @type {WebSocket|undefined} */
let socket;
let failures = 0, pollTimer = 0, retryTimer = 0;

const WORDS = /** @type {Record<State, [string, string]>} */ ({
  live: ["Live", "dot-ok"], polling: ["Polling", "dot-warn"], none: ["Not connected", "dot-bad"], ended: ["Signed out", "dot-bad"],
});

/** Says how fresh the page is. @param {State} now */
function say(now) {
  state = now;
  const sign = document.querySelector(".live"), [word, dot] = WORDS[now];
  const place = now === "live" ? `event ${Number(document.body.dataset.seq).toLocaleString("en")}` : "";
  if (sign?.children.length === 3) {
    sign.setAttribute("data-state", now);
    sign.children[0].className = `dot ${dot}`;
    // What has not changed is not read out again, and the number changes too often for that.
    if (sign.children[1].textContent !== word) sign.children[1].textContent = word;
    sign.children[1].removeAttribute("title");
    sign.children[2].ariaHidden = "true";
    sign.children[2].textContent = place;
  }
  if (now !== "live") stopTimes();
  if (now === "ended") { socket?.close(); toast("Your login has ended.", "/login", "Sign in"); }
}

/** Relative times that are not kept true turn absolute. */
function stopTimes() {
  for (const time of document.querySelectorAll("main time[title]"))
    if (time.textContent !== time.getAttribute("title")) time.textContent = time.getAttribute("title");
}

function connect() {
  const { live, seq } = document.body.dataset;
  const url = new URL("/live", location.href);
  url.protocol = url.protocol.replace("http", "ws");
  url.searchParams.set("since", seq ?? "0");
  url.searchParams.set("types", `task:*,approval:*${TOPICS[live ?? ""] ?? ""}`);
  const opened = new WebSocket(url);
  socket = opened;
  let heardAt = Date.now();
  const pulse = setInterval(() => {
    if (Date.now() - heardAt > 2.5 * PING_MS) opened.close();
    else if (opened.readyState === WebSocket.OPEN) opened.send("ping");
  }, PING_MS);
  opened.onmessage = ({ data }) => {
    heardAt = Date.now();
    const said = JSON.parse(data);
    if (said.message === "open") began();
    if (said.message === "changed") refreshSoon();
  };
  opened.onclose = ({ code }) => {
    clearInterval(pulse);
    if (socket === opened && state !== "ended") broke(code);
  };
}

function began() {
  const wasAway = failures > 0;
  failures = 0;
  clearTimeout(pollTimer);
  say("live");
  // Times on the page are absolute, and polls may have failed.
  if (wasAway) refreshSoon();
}

/** @param {number} code */
function broke(code) {
  socket = undefined;
  if (code === CLOSED_UNAUTHENTICATED) return void refresh();
  if (state === "live") say("none");
  clearTimeout(pollTimer);
  poll();
  const wait = Math.min(BACK_OFF_MS_MIN * 2 ** failures, BACK_OFF_MS_MAX) * (0.5 + Math.random());
  failures += 1;
  clearTimeout(retryTimer);
  retryTimer = setTimeout(connect, wait);
}

async function poll() {
  const came = document.hidden || isFetching ? state === "polling" : await refresh();
  if (state === "live" || state === "ended") return;
  say(came ? "polling" : "none");
  clearTimeout(pollTimer);
  pollTimer = setTimeout(poll, POLL_MS * (0.75 + Math.random() / 2));
}

// ---- Small things -------------------------------------------------------------------------------------------------

/** Says something over the navigation, for a while. @param {string} text @param {string} href @param {string} label */
function toast(text, href, label) {
  const toasts = document.querySelector(".toasts");
  if (!toasts) return;
  const shown = document.createElement("div"), words = document.createElement("span"), link = document.createElement("a");
  shown.className = "toast";
  words.textContent = text;
  link.className = "small";
  link.href = href;
  link.textContent = label;
  shown.append(words, link);
  toasts.replaceChildren(shown);
  fade(shown);
}

/** Takes a toast away, but not from under the pointer. @param {Element} shown */
function fade(shown) {
  setTimeout(() => (shown.matches(":hover, :focus-within") ? fade(shown) : shown.remove()), TOAST_MS);
}

/** Shows of the palette what has all the words. @param {HTMLInputElement} input */
function filterPalette(input) {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const entries = [...document.querySelectorAll(".palette-list > *")];
  for (const entry of entries)
    if (entry.matches("a")) /** @type {HTMLElement} */ (entry).hidden = !words.every((word) => entry.textContent?.toLowerCase().includes(word));
  let hasShown = false;
  for (const entry of entries.reverse()) {
    if (entry.matches("a")) hasShown ||= !(/** @type {HTMLElement} */ (entry).hidden);
    else { /** @type {HTMLElement} */ (entry).hidden = !hasShown; hasShown = false; }
  }
  activate(words.length > 0 ? 0 : -1);
}

const matches = () => [.../** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(".palette-list a:not([hidden])"))];

/** @param {number} index of the entry that Enter opens */
function activate(index) {
  for (const old of document.querySelectorAll(".palette-list [data-active]")) old.removeAttribute("data-active");
  const entry = matches().at(index);
  if (index < 0 || !entry) return;
  entry.setAttribute("data-active", "");
  entry.scrollIntoView({ block: "nearest" });
}

/** @param {KeyboardEvent} event */
function inPalette(event) {
  const found = matches(), at = found.findIndex((entry) => entry.hasAttribute("data-active"));
  if (event.key === "ArrowDown") activate(Math.min(at + 1, found.length - 1));
  else if (event.key === "ArrowUp") activate(Math.max(at - 1, 0));
  else if (event.key === "Enter" && at >= 0) found[at].click();
  else return;
  event.preventDefault();
}

// ---- The keyboard -------------------------------------------------------------------------------------------------

const GO = /** @type {Record<string, string>} */ ({
  i: "/", t: "/tasks", p: "/plan", l: "/locks", a: "/agents", o: "/overview", s: "/settings", d: "#sign",
});
const CHOICES = /** @type {Record<string, string>} */ ({ a: "approve", c: "changes", r: "reject", d: "delegate" });

/** Until when the next letter says where to go. */
let goUntil = 0;

/** @param {string} selector */
const first = (selector) => /** @type {HTMLElement|null} */ (document.querySelector(selector));
const chosen = () => /** @type {HTMLInputElement|null} */ (first("#sign [name=decision]:checked"));

/** @param {KeyboardEvent} event */
function onKey(event) {
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  const field = /** @type {Element|null} */ (event.target);
  if (event.ctrlKey || event.metaKey) return withModifier(event, field);
  if (field?.closest(".palette-in")) return inPalette(event);
  if (event.key === "Escape") return void escape(field);
  if (isTyping(field) || document.documentElement.dataset.keys === "off") return;
  if (event.repeat && !["j", "k", "ArrowDown", "ArrowUp", "[", "]"].includes(event.key)) return;
  if (letter(event.key, field)) event.preventDefault();
}

/** @param {KeyboardEvent} event @param {Element|null} field */
function withModifier(event, field) {
  if (event.shiftKey || event.repeat) return;
  if (event.key === "k") openPopover("palette");
  // Whoever writes a comment, or searches, means that.
  else if (event.key === "Enter" && !first(":popover-open") && (!isTyping(field) || field?.closest("#sign"))) sign();
  else return;
  event.preventDefault();
}

/** What a single key does; whether it does anything. @param {string} pressed @param {Element|null} field */
function letter(pressed, field) {
  if (Date.now() < goUntil) {
    goUntil = 0;
    return pressed in GO && go(GO[pressed]);
  }
  if (pressed === "g") { goUntil = Date.now() + 1500; return true; }
  if (pressed === "j" || pressed === "k") return step(pressed === "j" ? 1 : -1);
  // Elsewhere the arrows scroll, and in radios they choose.
  if (pressed.startsWith("Arrow") && !field?.closest("[id^='row-']")) return false;
  if (pressed === "ArrowDown" || pressed === "ArrowUp") return step(pressed === "ArrowDown" ? 1 : -1);
  if (pressed in CHOICES) return choose(CHOICES[pressed]);
  switch (pressed) {
    case "x": return pick();
    case ".": reveal(); return true;
    case "/": return openFilter() || focusOn("main input[type=search], main [name=q]");
    case "m": return focusOn("main [name=body]");
    case "v": return go("#since");
    case "?": return openPopover("keys");
    case "[": case "]": return nextChange(pressed === "]" ? 1 : -1);
    default: return false;
  }
}

/** @param {string} id */
function openPopover(id) {
  const popover = document.getElementById(id);
  if (popover && !popover.matches(":popover-open")) popover.showPopover();
  popover?.querySelector("input")?.focus();
  return popover !== null;
}

/** Opens the filter of a list that has one to open, by its button, so that it is beside it. */
function openFilter() {
  const button = first("main [data-filter]"), id = button?.getAttribute("popovertarget");
  const popover = id ? document.getElementById(id) : null;
  if (!popover?.matches(":popover-open")) button?.click();
  popover?.querySelector("input")?.focus();
  return popover !== null;
}

/** @param {string} selector */
function focusOn(selector) {
  const field = first(selector);
  field?.focus();
  return field !== null;
}

/** @param {string} where */
function go(where) {
  if (!where.startsWith("#")) { location.assign(where); return true; }
  const place = first(where);
  place?.scrollIntoView({ block: "nearest" });
  // A place to read from, never a button.
  if (place && !place.hasAttribute("tabindex")) place.tabIndex = -1;
  place?.focus({ preventScroll: true });
  return place !== null;
}

/** Goes to the next or previous row. @param {number} by */
function step(by) {
  const rows = [...document.querySelectorAll("main [id^='row-']:not([inert])")];
  const now = document.activeElement?.closest("[id^='row-']") ?? first("main [id^='row-'][data-current]");
  const at = now ? rows.indexOf(now) : by > 0 ? -1 : rows.length;
  const link = /** @type {HTMLElement|null|undefined} */ (rows[Math.min(Math.max(at + by, 0), rows.length - 1)]?.querySelector(".item-title, a[href]"));
  link?.focus();
  return link != null;
}

/** Ticks the row one is in. */
function pick() {
  const box = /** @type {HTMLElement|null|undefined} */ (document.activeElement?.closest("[id^='row-']")?.querySelector("input[type=checkbox]"));
  box?.click();
  return box != null;
}

/** Chooses, goes to the first field of what was chosen, and signs nothing: Enter in a field of these forms sends nothing, since
 *  the first button of each is disabled. @param {string} value */
function choose(value) {
  const radio = /** @type {HTMLInputElement|null} */ (first(`#sign [name=decision][value=${value}]`));
  if (!radio || radio.disabled) return false;
  radio.checked = true;
  radio.dispatchEvent(new Event("change", { bubbles: true }));
  const part = first(`#sign .when-${value}`);
  part?.scrollIntoView({ block: "nearest" });
  // Text and lists only. Never a button and never a radio.
  const field = /** @type {HTMLElement|null|undefined} */ (part?.querySelector("input:not([type=hidden], [type=radio], [type=checkbox]), textarea, select"));
  field?.focus({ preventScroll: true });
  return true;
}

/** Signs what is chosen, if anything is. */
function sign() {
  const choice = chosen();
  const form = choice && /** @type {HTMLFormElement|null} */ (first(`#sign form.when-${choice.value}`));
  const button = form?.querySelector("button:not([disabled]):not([hidden])");
  if (form && button) form.requestSubmit(/** @type {HTMLButtonElement} */ (button));
}

/** Undoes the latest of what one has begun. @param {Element|null} field */
function escape(field) {
  // Popovers close by themselves.
  if (first(":popover-open")) return;
  const block = signatureBlock();
  // A field that a choice has led to, and that nobody has written in, goes with the choice.
  const isEmpty = field !== null && !isDirty(field) && field.closest("#sign") !== null && chosen() !== null;
  if (isTyping(field) && !isEmpty) /** @type {HTMLElement} */ (field).blur();
  else if (chosen() && block) { clearChoice(block); go("#sign"); }
  else for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("main [id^='row-'] input:checked"))) box.checked = false;
}

/** Goes to the next or previous place where a difference begins. @param {number} by */
function nextChange(by) {
  const changes = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".diff .l:is(.add, .del)"))]
    .filter((line) => !line.previousElementSibling?.matches(".l:is(.add, .del)"));
  const at = changes.findIndex((line) => line === document.activeElement);
  const change = changes[at < 0 ? (by > 0 ? 0 : changes.length - 1) : Math.min(Math.max(at + by, 0), changes.length - 1)];
  if (!change) return false;
  change.tabIndex = -1;
  change.focus();
  return true;
}

// ---- Beginning ----------------------------------------------------------------------------------------------------

const KEYS_OFF = "countersign-keys-off";

/** Lets people turn single letters off, where the letters are listed: some speak to their browser, and every word would be one. */
function offerKeys() {
  const list = document.querySelector("#keys .stack");
  if (!list) return;
  const label = document.createElement("label"), box = document.createElement("input");
  label.className = "row";
  label.setAttribute("data-keep", "");
  box.type = "checkbox";
  box.className = "check";
  box.checked = localStorage.getItem(KEYS_OFF) === null;
  label.append(box, "Single letters are shortcuts in this browser");
  const apply = () => { document.documentElement.dataset.keys = box.checked ? "on" : "off"; };
  box.addEventListener("change", () => {
    if (box.checked) localStorage.removeItem(KEYS_OFF);
    else localStorage.setItem(KEYS_OFF, "");
    apply();
  });
  apply();
  list.append(label);
}

/** Changes the theme at once; the form tells the hub, which sets the cookie. @param {SubmitEvent} event */
function onSubmit(event) {
  const form = /** @type {HTMLFormElement} */ (event.target);
  // Not under a hand that has not seen what changed.
  if (form.closest(".settling")) return event.preventDefault();
  if (form.id !== "f-theme") return;
  event.preventDefault();
  const fields = new FormData(form, event.submitter), theme = String(fields.get("theme") ?? "");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  const sent = { method: "POST", body: new URLSearchParams(/** @type {any} */ (fields)), redirect: /** @type {const} */ ("manual") };
  void fetch(form.action, sent).then(refreshSoon);
}

function begin() {
  document.addEventListener("keydown", onKey);
  document.addEventListener("submit", onSubmit);
  document.addEventListener("input", ({ target }) => {
    if (target instanceof HTMLInputElement && target.closest(".palette-in")) filterPalette(target);
  });
  for (const shown of document.querySelectorAll(".toast")) fade(shown);
  offerKeys();
  // A page that says what went wrong has no address to ask for it again, and stays as it is.
  const [arrival] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  if (document.body.dataset.seq === undefined || arrival?.responseStatus >= 400) return;
  for (const left of ["pointerout", "focusout"]) document.addEventListener(left, revealWhenLeft);
  document.addEventListener("visibilitychange", () => { if (!document.hidden && (isDue || state === "live")) refreshSoon(); });
  // A page that comes back from where browsers keep those one has left is old.
  addEventListener("pageshow", ({ persisted }) => { if (persisted) { connect(); refreshSoon(); } });
  addEventListener("pagehide", () => { const left = socket; socket = undefined; left?.close(); clearTimeout(retryTimer); clearTimeout(pollTimer); });
  // After signing one goes on with the next row, never with a button.
  const asked = new URLSearchParams(location.search);
  if (asked.has("done")) first("main [id^='row-'] .item-title")?.focus({ preventScroll: true });
  // What was opened is read next; the list before it would have to be gone through first.
  if (asked.has("open") || asked.has("task")) first("#pane-title")?.focus({ preventScroll: true });
  if (document.body.dataset.live === "inbox" || document.body.dataset.live === "tasks") showHeld(new Map());
  connect();
}

begin();
