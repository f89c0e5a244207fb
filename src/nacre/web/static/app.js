// Keys, dragging over the timeline, and the refresh when memory changes. Everything else works without this file.
"use strict";

const typing = (element) => element && element.matches("input, textarea, select");

function activeQuestion() {
  const questions = [...document.querySelectorAll(".question")];
  const chosen = document.activeElement?.closest(".question") || document.querySelector(".question:target");
  return chosen || questions[0];
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && typing(event.target)) event.target.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (event.key === "/") {
    event.preventDefault();
    const field = document.querySelector("main input[type=search]") || document.querySelector(".find input");
    field.focus();
    field.select();
    return;
  }
  const question = activeQuestion();
  const key = question && /^[kerl]$/.test(event.key) && question.querySelector(`[data-key="${event.key}"]`);
  if (!key) return;
  event.preventDefault();
  key.click();
  if (event.key === "e") question.querySelector("textarea")?.focus();
  if (event.key === "l") document.querySelector(`${key.getAttribute("href")}`)?.focus();
});

// Dragging over the days of the timeline chooses the range, as the form below them does.
let brush = null;

function dayAt(strip, event) {
  const box = strip.getBoundingClientRect();
  const count = strip.viewBox.baseVal.width / 10;
  return Math.max(0, Math.min(count - 1, Math.floor(((event.clientX - box.left) / box.width) * count)));
}

function drawBrush(event) {
  brush.to = dayAt(brush.strip, event);
  if (!brush.area && brush.to !== brush.from) {
    brush.area = document.createElementNS(brush.strip.namespaceURI, "rect");
    brush.area.setAttribute("class", "brush");
    brush.area.setAttribute("height", "48");
    brush.strip.append(brush.area);
  }
  brush.area?.setAttribute("x", Math.min(brush.from, brush.to) * 10);
  brush.area?.setAttribute("width", (Math.abs(brush.to - brush.from) + 1) * 10);
}

document.addEventListener("pointerdown", (event) => {
  const strip = event.button === 0 && event.target.closest(".days");
  if (strip) brush = { strip, from: dayAt(strip, event) };
});
document.addEventListener("pointermove", (event) => brush && drawBrush(event));
document.addEventListener("pointercancel", () => {
  brush?.area?.remove();
  brush = null;
});
document.addEventListener("pointerup", () => {
  const { strip, area, from, to } = brush || {};
  brush = null;
  if (!area) return; // a click: the bar is a link
  strip.addEventListener("click", (event) => event.preventDefault(), { capture: true, once: true });
  const day = (place) => new Date(Date.parse(strip.dataset.first) + place * 86400000).toISOString().slice(0, 10);
  const form = document.querySelector("form.range");
  form.elements.since.value = day(Math.min(from, to));
  form.elements.until.value = day(Math.max(from, to));
  form.requestSubmit();
});
document.addEventListener("dragstart", (event) => event.target.closest?.(".days") && event.preventDefault());

// A form that somebody is filling in, or a panel that is open or about to be, is not swept away: a notice says that there is news.
function isBusy() {
  const open = document.querySelector("main details.inline[open], main .from:not(:empty), main .htmx-request");
  const busy = typing(document.activeElement) || open;
  if (busy) document.querySelector(".notice.changed")?.removeAttribute("hidden");
  return busy;
}

function refresh() {
  const place = location.pathname + location.search;
  if (!isBusy()) htmx.ajax("GET", place, { target: "#main", select: "#main", swap: "outerHTML" });
}

document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target.id === "main" && isBusy()) event.detail.shouldSwap = false; // opened while the news was on its way
});

if (document.querySelector("header.top")) {
  new EventSource("/events").addEventListener("changed", refresh);
}
