// Keys, and the refresh when memory changes. Everything else works without this file.
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

// A form that somebody is filling in, or a panel that is open, is not swept away: a notice says that there is news.
function isBusy() {
  return typing(document.activeElement) || document.querySelector("main details.inline[open], main .from:not(:empty)");
}

function refresh() {
  if (isBusy()) {
    document.querySelector(".notice.changed")?.removeAttribute("hidden");
  } else {
    const place = location.pathname + location.search;
    htmx.ajax("GET", place, { target: "#main", select: "#main", swap: "outerHTML" });
  }
}

if (document.querySelector("header.top")) {
  new EventSource("/events").addEventListener("changed", refresh);
}
